"""The attempts, what was said about them, and the moves that followed."""

from django.db import models
from django.db.models import F, Q

from fulfilment.models.machine import Fulfilment
from fulfilment.models.words import Finding, Source


class Attempt(models.Model):
    """One try at the provider. Columns go from NULL to a value once (trigger)."""

    fulfilment = models.ForeignKey(Fulfilment, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveIntegerField()
    token = models.UUIDField(unique=True, help_text="who may still write through this attempt")
    worker = models.CharField(max_length=128, blank=True)
    claimed_at = models.DateTimeField()
    lease_until = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, help_text="committed before the first byte leaves")
    maybe_sent = models.BooleanField(
        default=False, help_text="after a restored backup: counts as sent"
    )
    closed_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=16, null=True)  # noqa: DJ001  # NULL = still open; set once

    class Meta:
        db_table = "fulfilment_attempt"
        constraints = [
            models.UniqueConstraint(
                fields=["fulfilment", "number"], name="fulfilment_attempt_number"
            ),
            models.UniqueConstraint(
                fields=["fulfilment"],
                condition=Q(closed_at__isnull=True),
                name="fulfilment_attempt_one_open",
            ),
            models.CheckConstraint(
                condition=Q(closed_at__isnull=True, outcome__isnull=True)
                | Q(closed_at__isnull=False, outcome__isnull=False),
                name="fulfilment_attempt_closed_with_outcome",
            ),
            models.CheckConstraint(
                condition=Q(lease_until__gt=F("claimed_at")), name="fulfilment_attempt_lease_ahead"
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.fulfilment_id}"


class Evidence(models.Model):
    """What somebody said happened. Append-only (trigger); the body lives in `Payload`."""

    fulfilment = models.ForeignKey(Fulfilment, on_delete=models.PROTECT, related_name="evidence")
    attempt = models.ForeignKey(
        Attempt, on_delete=models.PROTECT, null=True, related_name="evidence"
    )
    source = models.CharField(max_length=16, choices=Source)
    finding = models.CharField(max_length=16, choices=Finding)
    conclusive = models.BooleanField()
    canary = models.BooleanField(
        default=False, help_text="a known reference was found in the same run"
    )
    amount = models.BigIntegerField(null=True)
    currency = models.CharField(max_length=3, blank=True)
    recipient = models.CharField(
        max_length=64, blank=True, help_text="as the provider names it, masked"
    )
    other_recipient = models.BooleanField(
        default=False, help_text="it names somebody else than we did, compared whole"
    )
    provider_status = models.CharField(
        max_length=64, blank=True, help_text="the provider's own word"
    )
    provider_id = models.CharField(max_length=128, blank=True)
    said_at = models.DateTimeField(
        null=True, help_text="the provider's own time, where it gives one"
    )
    asked_at = models.DateTimeField(
        null=True, help_text="of an answer to a question of ours: the moment before we put it"
    )
    recorded_at = models.DateTimeField()
    actor = models.CharField(
        max_length=150, help_text="worker, sweeper, staff:<name>, provider:<name>"
    )
    detail = models.CharField(max_length=500, blank=True)
    digest = models.CharField(
        max_length=64, blank=True, help_text="SHA-256 of the body as received"
    )

    class Meta:
        db_table = "fulfilment_evidence"
        verbose_name_plural = "evidence"
        indexes = [models.Index(fields=["fulfilment", "id"], name="fulfilment_evidence_order")]

    def __str__(self) -> str:
        return f"{self.get_source_display()}: {self.get_finding_display()}"


class Payload(models.Model):
    """The body that a piece of evidence came with. Retention may empty this table; digests stay."""

    evidence = models.OneToOneField(
        Evidence, on_delete=models.PROTECT, primary_key=True, related_name="payload"
    )
    body = models.BinaryField()

    class Meta:
        db_table = "fulfilment_payload"

    def __str__(self) -> str:
        return f"payload of evidence {self.pk}"


class Transition(models.Model):
    """One state change and who made it. Append-only (trigger); exactly one row per change."""

    fulfilment = models.ForeignKey(Fulfilment, on_delete=models.PROTECT, related_name="transitions")
    version = models.PositiveIntegerField()
    before = models.CharField(max_length=24)
    after = models.CharField(max_length=24)
    actor = models.CharField(max_length=150)
    reason = models.CharField(max_length=255)
    attempt = models.ForeignKey(Attempt, on_delete=models.PROTECT, null=True, related_name="+")
    evidence = models.ForeignKey(Evidence, on_delete=models.PROTECT, null=True, related_name="+")
    moved_at = models.DateTimeField()

    class Meta:
        db_table = "fulfilment_transition"
        constraints = [
            models.UniqueConstraint(
                fields=["fulfilment", "version"], name="fulfilment_transition_one_per_version"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.before} → {self.after}"
