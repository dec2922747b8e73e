"""What is remembered of an external effect: the row, its attempts, what was said, who decided.

Constraints and triggers of the database enforce the rules; see `migrations/0002_guards.py`.
"""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from fulfilment.states import FREES_THE_PAYMENT, OPEN, State


class Source(models.TextChoices):
    """Who said it."""

    RESPONSE = "response", "the provider's answer to our call"
    LOOKUP = "lookup", "the provider, when asked"
    WEBHOOK = "webhook", "an event from the provider"
    PERSON = "person", "a member of staff"
    SWEEP = "sweep", "our sweeper"


class Finding(models.TextChoices):
    """What was said."""

    DONE = "done", "done"
    NOT_DONE = "not_done", "not done"
    REVERSED = "reversed", "given back"
    ACCEPTED = "accepted", "accepted, not yet final"
    NOT_SENT = "not_sent", "never left us"
    REFUSED = "refused", "refused for a reason of ours"
    UNKNOWN = "unknown", "unknown"
    NOT_FOUND = "not_found", "not found"
    NO_INFORMATION = "no_information", "could not be asked"


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
        permissions = [
            ("resolve_fulfilled", "Can decide that an effect happened"),
            ("resolve_failed", "Can decide that an effect did not happen"),
            ("ask_provider", "Can ask the provider now"),
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
        ]
        indexes = [
            # the poller, the sweeper and the look-ups each read one state in order of due time
            models.Index(
                fields=["state", "next_check_at"],
                condition=Q(state__in=sorted(OPEN)),
                name="fulfilment_due",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.reference}"


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
    provider_status = models.CharField(
        max_length=64, blank=True, help_text="the provider's own word"
    )
    provider_id = models.CharField(max_length=128, blank=True)
    said_at = models.DateTimeField(
        null=True, help_text="the provider's own time, where it gives one"
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


class CaseReason(models.TextChoices):
    """Why a person is asked."""

    DEADLINE = "deadline", "no answer by the deadline"
    NOT_FOUND = "not_found", "not found, and not safe to send again"
    CANNOT_ASK = "cannot_ask", "the provider cannot be asked"
    CONFLICT = "conflict", "what was said contradicts"
    CRASHES = "crashes", "five crashes before sending"
    PENDING_TOO_LONG = "pending_too_long", "waiting to be sent for too long"
    HANDLER_FAILED = "handler_failed", "the books could not take the outcome"
    OPENED_BY_AGENT = "opened_by_agent", "opened by an agent"


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
        ASKED = "asked", "asked the provider"
        PROPOSED = "proposed", "proposed a verdict"
        APPROVED = "approved", "approved a verdict"
        RESOLVED = "resolved", "gave the verdict"
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


class Reconciliation(Fulfilment):
    """The queue of support staff: fulfilments nobody may guess about."""

    class Meta:
        proxy = True
        verbose_name = "needs reconciliation"
        verbose_name_plural = "needs reconciliation"

    def latest(self, source: str) -> Any:
        """The newest evidence of this source, or None."""
        return self.evidence.filter(source=source).order_by("-id").first()


import fulfilment.events  # noqa: E402, F401  # the rest of the models: what providers report
