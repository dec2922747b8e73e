"""What providers told us by themselves: each event once, its body, and what contradicts it.

Stored before it is answered and applied afterwards: two facts. Constraints and triggers of the
database enforce the rules; see `migrations/0003_provider_events.py`. Part of `fulfilment.models`.
"""

from django.db import models
from django.db.models import Q


class EventStatus(models.TextChoices):
    """How far an event has come."""

    RECEIVED = "received", "waits to be applied"
    PARKED = "parked", "waits for what it is about"
    APPLIED = "applied", "applied"
    IGNORED = "ignored", "of a type that is not used"
    DEAD = "dead", "given up: nothing here fits it"
    SET_ASIDE = "set_aside", "set aside by a person"


WAITING = frozenset({EventStatus.RECEIVED, EventStatus.PARKED})


class ProviderEvent(models.Model):
    """One event of a provider, however often it is delivered. Kept for ever, like its key."""

    provider = models.CharField(max_length=32)
    account = models.CharField(max_length=64, blank=True)
    livemode = models.BooleanField()
    dedupe_key = models.CharField(max_length=255)
    type = models.CharField(max_length=128)
    digest = models.CharField(
        max_length=64, help_text="SHA-256 of what must be the same in every delivery"
    )
    reference = models.CharField(max_length=64, blank=True, help_text="what it is about")
    received_at = models.DateTimeField()

    status = models.CharField(max_length=16, choices=EventStatus)
    reason = models.CharField(max_length=255, blank=True)
    checks = models.PositiveIntegerField(
        default=0, help_text="times that it was tried since it came or was last applied again"
    )
    next_check_at = models.DateTimeField(null=True)
    applied_at = models.DateTimeField(null=True)
    fulfilment = models.ForeignKey(
        "fulfilment.Fulfilment", on_delete=models.PROTECT, null=True, related_name="events"
    )
    evidence = models.OneToOneField(
        "fulfilment.Evidence", on_delete=models.PROTECT, null=True, related_name="event"
    )

    class Meta:
        db_table = "provider_event"
        verbose_name = "provider event"
        permissions = [("replay_event", "Can apply an event again, or set it aside")]
        constraints = [
            # No column of it is nullable: NULLs would let the same event in twice.
            models.UniqueConstraint(
                fields=["provider", "account", "livemode", "dedupe_key"],
                name="provider_event_once",
            ),
            models.CheckConstraint(
                condition=Q(status__in=sorted(EventStatus.values)),
                name="provider_event_status_known",
            ),
            models.CheckConstraint(
                condition=Q(status__in=sorted(WAITING), next_check_at__isnull=False)
                | (~Q(status__in=sorted(WAITING)) & Q(next_check_at__isnull=True)),
                name="provider_event_waiting_has_next_check",
            ),
            models.CheckConstraint(
                condition=Q(status=EventStatus.APPLIED, applied_at__isnull=False)
                | (~Q(status=EventStatus.APPLIED) & Q(applied_at__isnull=True)),
                name="provider_event_applied_with_time",
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_check_at"],
                condition=Q(status__in=sorted(WAITING)),
                name="provider_event_due",
            ),
            # the screen of what fits nothing: a handful among millions, oldest first
            models.Index(
                fields=["received_at"],
                condition=Q(status__in=sorted({*WAITING, EventStatus.DEAD})),
                name="provider_event_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.type} {self.dedupe_key}"


class ProviderEventPayload(models.Model):
    """The signed bytes as they came. Retention may delete those of events that wait no more."""

    event = models.OneToOneField(
        ProviderEvent, on_delete=models.PROTECT, primary_key=True, related_name="payload"
    )
    body = models.BinaryField()

    class Meta:
        db_table = "provider_event_payload"

    def __str__(self) -> str:
        return f"payload of event {self.pk}"


class ProviderEventConflict(models.Model):
    """Another body under the name of an event that is on record. Nobody can tell which is true."""

    event = models.ForeignKey(ProviderEvent, on_delete=models.PROTECT, related_name="conflicts")
    digest = models.CharField(max_length=64)
    body = models.BinaryField(null=True, help_text="retention may empty it; the digest stays")
    received_at = models.DateTimeField()
    raised_at = models.DateTimeField(null=True, help_text="when its case was opened or told of it")

    class Meta:
        db_table = "provider_event_conflict"
        constraints = [
            models.UniqueConstraint(
                fields=["event", "digest"], name="provider_event_conflict_once"
            ),
        ]
        indexes = [
            models.Index(
                fields=["event"],
                condition=Q(raised_at__isnull=True),
                name="provider_event_conflict_new",
            ),
        ]

    def __str__(self) -> str:
        return f"another body for event {self.event_id}"


class ProviderEventAction(models.Model):
    """What somebody did to an event by hand, and why. Append-only (trigger)."""

    class Action(models.TextChoices):
        REPLAYED = "replayed", "had it applied again"
        SET_ASIDE = "set_aside", "set it aside"

    event = models.ForeignKey(ProviderEvent, on_delete=models.PROTECT, related_name="actions")
    action = models.CharField(max_length=16, choices=Action)
    actor = models.CharField(max_length=150)
    before = models.CharField(
        max_length=16, choices=EventStatus, help_text="how far it had come until then"
    )
    note = models.CharField(max_length=255, blank=True)
    acted_at = models.DateTimeField()

    class Meta:
        db_table = "provider_event_action"
        constraints = [
            models.CheckConstraint(
                condition=Q(action__in=["replayed", "set_aside"]),
                name="provider_event_action_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.get_action_display()}"
