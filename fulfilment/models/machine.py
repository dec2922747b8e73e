"""The row itself, and the queue of those that wait for a person."""

from typing import Any

from django.db import models
from django.db.models import Q

from fulfilment.states import FREES_THE_PAYMENT, OPEN, State


class Fulfilment(models.Model):
    """One external effect that one payment pays for."""

    kind = models.CharField(max_length=32, help_text="which handlers learn the outcome")
    event_id = models.CharField(max_length=255)
    payment_id = models.CharField(max_length=255)
    generation = models.PositiveSmallIntegerField(default=1)
    reference = models.CharField(
        max_length=32, unique=True, help_text="our name for it at the provider"
    )
    connector = models.CharField(max_length=32)
    amount = models.BigIntegerField(help_text="minor units")
    currency = models.CharField(max_length=3)
    instruction = models.JSONField(
        default=dict, help_text="what the connector needs besides the amount"
    )

    state = models.CharField(
        max_length=24,
        default=State.PENDING.value,
        choices=[(s.value, s.replace("_", " ")) for s in State],
    )
    version = models.PositiveIntegerField(
        default=0, help_text="moves so far; names the row in compare-and-set"
    )
    reason = models.CharField(
        max_length=255, blank=True, help_text="why it is in this state, in a sentence"
    )
    next_check_at = models.DateTimeField(null=True)
    recheck_at = models.DateTimeField(
        null=True, help_text="when the provider is asked about it again, although it is decided"
    )
    checks = models.PositiveIntegerField(default=0, help_text="position in the look-up schedule")
    failed_starts = models.PositiveSmallIntegerField(
        default=0, help_text="crashes before anything was sent"
    )
    refusals = models.PositiveIntegerField(
        default=0, help_text="refused connections in a row; sets the back-off"
    )
    started_by = models.CharField(max_length=150, blank=True, help_text="who asked for it")
    created_at = models.DateTimeField()
    state_changed_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "fulfilment"
        verbose_name = "payment"  # the one noun of the screens for it
        verbose_name_plural = "payments in every state"
        permissions = [
            ("resolve_fulfilled", "Can decide that an effect happened"),
            ("resolve_failed", "Can decide that an effect did not happen"),
            ("ask_provider", "Can ask the provider now"),
            ("cancel_pending", "Can cancel what was never sent"),
            ("correct_failed", "Can correct a verdict that turned out wrong"),
            ("send_again", "Can send again, under a new reference, what did not happen"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["event_id", "generation"], name="fulfilment_one_per_event"
            ),
            models.UniqueConstraint(
                fields=["payment_id", "generation"], name="fulfilment_one_per_generation"
            ),
            # Over pending and dispatching alone, a second event would pay a fulfilled payment again.
            models.UniqueConstraint(
                fields=["payment_id"],
                condition=~Q(state__in=sorted(FREES_THE_PAYMENT)),
                name="fulfilment_one_live_per_payment",
            ),
            models.CheckConstraint(
                condition=Q(state__in=sorted(State)), name="fulfilment_state_known"
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="fulfilment_amount_positive"),
            models.CheckConstraint(
                condition=Q(generation__gte=1), name="fulfilment_generation_from_one"
            ),
            models.CheckConstraint(
                condition=Q(state__in=sorted(OPEN), next_check_at__isnull=False)
                | (~Q(state__in=sorted(OPEN)) & Q(next_check_at__isnull=True)),
                name="fulfilment_open_has_next_check",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=sorted(OPEN)) | Q(recheck_at__isnull=True),
                name="fulfilment_recheck_of_decided",
            ),
        ]
        indexes = [
            # the poller, the sweeper and the look-ups each read one state in order of due time
            models.Index(
                fields=["state", "next_check_at"],
                condition=Q(state__in=sorted(OPEN)),
                name="fulfilment_due",
            ),
            models.Index(
                fields=["recheck_at"],
                condition=Q(recheck_at__isnull=False),
                name="fulfilment_recheck_due",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.reference}"


class Reconciliation(Fulfilment):
    """The queue of support staff: fulfilments nobody may guess about."""

    class Meta:
        proxy = True
        verbose_name = "needs reconciliation"
        verbose_name_plural = "needs reconciliation"

    def latest(self, source: str) -> Any:
        """The newest evidence of this source, or None."""
        return self.evidence.filter(source=source).order_by("-id").first()
