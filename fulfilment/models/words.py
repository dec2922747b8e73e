"""The words that are stored: who said what, and why a person is asked."""

from django.db import models


class Source(models.TextChoices):
    """Who said it."""

    RESPONSE = "response", "the provider's answer to our call"
    LOOKUP = "lookup", "the provider, when asked"
    WEBHOOK = "webhook", "an event from the provider"
    STATEMENT = "statement", "a statement or status message of the provider"
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


class CaseReason(models.TextChoices):
    """Why a person is asked."""

    DEADLINE = "deadline", "no answer by the deadline"
    NOT_FOUND = "not_found", "not found, and not safe to send again"
    CANNOT_ASK = "cannot_ask", "the provider cannot be asked"
    CONFLICT = "conflict", "what was said contradicts"
    CRASHES = "crashes", "its workers died with it, again and again"
    PENDING_TOO_LONG = "pending_too_long", "waiting to be sent for too long"
    HANDLER_FAILED = "handler_failed", "the books could not take the outcome"
    PAID_TWICE = "paid_twice", "it was paid twice"
    SUSPENSE = "suspense", "part of a correction had to go to suspense"
    OPENED_BY_AGENT = "opened_by_agent", "opened by an agent"
