"""What a person works on."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from fulfilment.models.machine import Fulfilment
from fulfilment.models.words import CaseReason


class Case(models.Model):
    """What a person works on. Checks go on meanwhile; evidence that settles the row closes it."""

    fulfilment = models.ForeignKey(Fulfilment, on_delete=models.PROTECT, related_name="cases")
    reason = models.CharField(max_length=24, choices=CaseReason)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    opened_at = models.DateTimeField()
    opened_by = models.CharField(max_length=150)
    closed_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=150, blank=True)
    version = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "fulfilment_case"
        constraints = [
            models.UniqueConstraint(
                fields=["fulfilment"],
                condition=Q(closed_at__isnull=True),
                name="fulfilment_case_one_open",
            ),
        ]

    def __str__(self) -> str:
        return f"case {self.pk}: {self.get_reason_display()}"


class CaseAction(models.Model):
    """What was done on a case, by whom, on what ground. Append-only (trigger)."""

    class Action(models.TextChoices):
        OPENED = "opened", "opened"
        TAKEN = "taken", "took the case"
        RELEASED = "released", "gave the case back"
        ASKED = "asked", "asked the provider"
        PROPOSED = "proposed", "proposed a verdict"
        APPROVED = "approved", "approved a verdict"
        WITHDRAWN = "withdrawn", "withdrew a proposal"
        RESOLVED = "resolved", "gave the verdict"
        CONFIRMED = "confirmed", "gave the verdict that the provider gave too"
        CORRECTED = "corrected", "corrected the verdict"
        PAID_TWICE = "paid_twice", "recorded it as paid twice"
        UPHELD = "upheld", "left the verdict as it is"
        NOTED = "noted", "left a note"
        VOIDED = "voided", "voided by evidence"
        CLOSED = "closed", "closed"

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="actions")
    action = models.CharField(max_length=16, choices=Action)
    actor = models.CharField(max_length=150)
    verdict = models.CharField(max_length=16, blank=True)
    evidence_reference = models.CharField(max_length=255, blank=True)
    note = models.TextField(blank=True)
    acted_at = models.DateTimeField()

    class Meta:
        db_table = "fulfilment_case_action"

    def __str__(self) -> str:
        return f"{self.actor} {self.get_action_display()}"
