"""The record of a guarded action: one row per slot, and the constraint on it is the gate."""

from django.db import models
from django.db.models import Q

from idempotency.uniqueness import unique_with_null

_UNOWNED = Q(token=None, locked_until=None)
_UNFINISHED = Q(settled_at=None, result=None)


class GatedAction(models.Model):
    """One action that must not happen twice: who it is, where it stands, what it came to.

    A slot is free if it has no row. `claimed` and `held` occupy it until somebody knows; `settled`
    occupies it for ever (trigger), so that a retry in ten years still gets the result.
    """

    class State(models.TextChoices):
        CLAIMED = "claimed", "claimed"  # -> settled, held, or deleted: nothing happened
        SETTLED = "settled", "settled"  # final
        HELD = "held", "held"  # -> settled, or deleted, by a person

    id = models.BigAutoField(primary_key=True)
    slot = models.TextField(help_text="claim_ and 24 hex digits of what makes the action unique")
    action = models.TextField(help_text="what is done")
    target = models.TextField(blank=True, help_text="what it is done to")
    key = models.TextField(blank=True, help_text="which of several such actions on the target")
    namespace = models.TextField(null=True, help_text="whose it is; NULL: there is one of it")  # noqa: DJ001  NULL is a value here: no namespace
    state = models.TextField(choices=State)
    token = models.UUIDField(null=True, help_text="tells the claim from its successors")
    # JSON as text: it comes back as it was written, where jsonb would change order and numbers
    result = models.TextField(null=True, help_text="JSON; NULL if it could not be kept")  # noqa: DJ001  not kept is not empty
    claimed_at = models.DateTimeField()
    locked_until = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)
    held_at = models.DateTimeField(null=True)
    hold_reason = models.TextField(blank=True, db_default="")

    class Meta:
        db_table = "idempotency_actions"
        default_permissions = ("view",)
        permissions = [
            ("settle_held_action", "Can say that a held action happened"),
            ("release_held_action", "Can say that a held action did not happen"),
        ]
        verbose_name = "guarded action"
        constraints = [
            # This is the gate. The whole identity stands beside its digest: two identities that
            # share a digest are two actions.
            *unique_with_null(
                fields=["slot", "action", "target", "key"],
                nullable="namespace",
                name="idempotency_actions_slot_taken",
            ),
            models.CheckConstraint(
                condition=Q(slot__regex=r"^claim_[0-9a-f]{24}$") & ~Q(action=""),
                name="idempotency_actions_named",
            ),
            models.CheckConstraint(
                condition=~Q(target="") | ~Q(key=""), name="idempotency_actions_identified"
            ),
            # A claim that nobody can name, or that never ends, would occupy its slot for ever.
            models.CheckConstraint(
                condition=Q(state="claimed", token__isnull=False, locked_until__isnull=False)
                & _UNFINISHED
                | Q(state="settled", settled_at__isnull=False) & _UNOWNED
                | Q(state="held") & _UNOWNED & _UNFINISHED,
                name="idempotency_actions_columns_of_state",
            ),
            models.CheckConstraint(
                condition=Q(state="held", held_at__isnull=False) & ~Q(hold_reason="")
                | ~Q(state="held") & Q(held_at=None, hold_reason=""),
                name="idempotency_actions_hold_has_reason",
            ),
        ]
        indexes = [
            # what the sweep looks for, and what staff work on: a handful among what is settled
            models.Index(
                fields=["locked_until"],
                condition=Q(state="claimed"),
                name="idempotency_actions_running",
            ),
            models.Index(
                fields=["held_at"], condition=Q(state="held"), name="idempotency_actions_held"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.target or self.key}"
