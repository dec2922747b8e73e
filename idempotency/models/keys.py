"""The record of a key. PostgreSQL decides; the constraints say what a row can mean."""

from django.db import models
from django.db.models import Q

from idempotency.contract import Status

# plain text, so that migrations do not import the contract
_STATUSES = [(status.value, status.value.replace("_", " ")) for status in Status]

_OPEN = Q(status=Status.IN_PROGRESS.value)
_FREE = Q(locked_until=None, claim_token=None, held_at=None, next_check_at=None, hold_reason="")
_NO_ANSWER = Q(
    response_code=None,
    response_headers__isnull=True,  # `=None` would mean JSON's null
    response_body=None,
    completed_at=None,
)
_WHOLE_ANSWER = Q(
    response_code__isnull=False,
    response_headers__isnull=False,
    response_body__isnull=False,
    completed_at__isnull=False,
)


class IdempotencyKey(models.Model):
    """One key of one principal: which request it names, where that stands, what was answered.

    in_progress is one of: leased (`locked_until` set, with a token), held (`held_at` set), or
    deferred (neither): its outcome comes from whoever calls `complete()`.
    """

    pk = models.CompositePrimaryKey("user_id", "key")
    user_id = models.UUIDField(help_text="the scope: whose key it is")
    key = models.TextField(db_collation="C")  # compared byte by byte, in every locale
    request_hash = models.TextField()
    hash_version = models.PositiveSmallIntegerField()
    operation = models.TextField(help_text="the registered name of the guarded view")
    status = models.TextField(choices=_STATUSES)
    response_code = models.PositiveSmallIntegerField(null=True)
    response_headers = models.JSONField(null=True, help_text="pairs, in their order")
    # jsonb would reorder members and refuse NUL: it cannot replay byte for byte
    response_body = models.BinaryField(null=True)
    created_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True)
    locked_until = models.DateTimeField(null=True)
    claim_token = models.UUIDField(null=True)
    sent_at = models.DateTimeField(
        null=True, help_text="from here on the other system may have heard of it"
    )
    cleared_at = models.DateTimeField(
        null=True, help_text="it was sent, and then found not to have happened"
    )
    held_at = models.DateTimeField(null=True)
    hold_reason = models.TextField(blank=True, db_default="")
    next_check_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "idempotency_keys"
        default_permissions = ()
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=[value for value, _ in _STATUSES]),
                name="idempotency_keys_status_known",
            ),
            # An answer is there whole or not at all, and exactly when the status is final.
            models.CheckConstraint(
                condition=(_OPEN & _NO_ANSWER) | (~_OPEN & _WHOLE_ANSWER),
                name="idempotency_keys_answer_when_final",
            ),
            models.CheckConstraint(
                condition=_OPEN
                | Q(status=Status.COMPLETED.value, response_code__range=(200, 399))
                | Q(status=Status.FAILED.value, response_code__range=(400, 499)),
                name="idempotency_keys_code_fits_status",
            ),
            # Nobody can still own, hold or check what is final.
            models.CheckConstraint(condition=_OPEN | _FREE, name="idempotency_keys_final_is_free"),
            # A lease that nobody can name could never be settled or told from its successor.
            models.CheckConstraint(
                condition=Q(locked_until=None) | Q(claim_token__isnull=False),
                name="idempotency_keys_lease_has_token",
            ),
            # Without lease and hold the row is deferred, and no attempt may settle that by token.
            models.CheckConstraint(
                condition=Q(claim_token=None)
                | Q(locked_until__isnull=False)
                | Q(held_at__isnull=False),
                name="idempotency_keys_deferred_has_no_token",
            ),
            # A call that nobody owns could neither be settled nor asked about; nor is it final.
            models.CheckConstraint(
                condition=Q(sent_at=None) | (_OPEN & Q(claim_token__isnull=False)),
                name="idempotency_keys_sent_is_owned",
            ),
            models.CheckConstraint(
                condition=Q(held_at=None, hold_reason="")
                | (Q(held_at__isnull=False, locked_until=None) & ~Q(hold_reason="")),
                name="idempotency_keys_hold_has_reason",
            ),
            models.CheckConstraint(
                condition=~Q(operation=""), name="idempotency_keys_operation_named"
            ),
        ]
        indexes = [
            # what the sweep looks for: a handful among millions that are final
            models.Index(fields=["operation"], condition=_OPEN, name="idempotency_keys_open"),
            # what the clean-up deletes: the oldest of those that are final
            models.Index(
                fields=["completed_at"],
                condition=Q(completed_at__isnull=False),
                name="idempotency_keys_final",
            ),
            # the list for staff, newest first; refusals are few, and would be looked for in all of it
            models.Index(fields=["created_at"], name="idempotency_keys_created"),
            models.Index(
                fields=["created_at"],
                condition=Q(status=Status.FAILED.value),
                name="idempotency_keys_refused",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.operation} of {self.user_id}"


class KeyListing(models.Model):
    """The record as staff see it, from a database view: the admin refuses composite keys."""

    id = models.TextField(primary_key=True)
    user_id = models.UUIDField("user")
    key = models.TextField()
    operation = models.TextField()
    status = models.TextField()
    state = models.TextField(
        help_text="leased, overdue, waiting, held, deferred, completed or failed"
    )
    response_code = models.PositiveSmallIntegerField(null=True)
    created_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True)
    locked_until = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    cleared_at = models.DateTimeField(null=True)
    held_at = models.DateTimeField(null=True)
    hold_reason = models.TextField()
    next_check_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        db_table = "idempotency_key_list"
        default_permissions = ("view",)
        permissions = [
            ("settle_held", "Can give a held key its answer"),
            ("release_held", "Can free a held key: nothing happened"),
            ("ask_held", "Can ask now what became of a held key"),
            ("view_body", "Can open a stored answer"),
        ]
        verbose_name = "idempotency key"

    def __str__(self) -> str:
        return f"{self.operation} of {self.user_id}"
