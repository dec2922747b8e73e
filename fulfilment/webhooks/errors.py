"""Why an event is not taken, each with the sentence that a person reads. Pure."""

from fulfilment.errors import FulfilmentError


class IntakeRefused(FulfilmentError):
    """The event was not taken, and nothing was stored."""

    code = "event_refused"


class ProviderUnknown(IntakeRefused):
    """No provider of this name sends events here."""

    code = "provider_unknown"


class EventNotPosted(IntakeRefused):
    """An event comes by POST."""

    code = "event_not_posted"


class SignatureRefused(IntakeRefused):
    """The signature does not prove that the provider sent this body just now."""

    code = "signature_refused"


class EventMalformed(IntakeRefused):
    """The body is signed, and is not an event."""

    code = "event_malformed"


class EventTooLarge(IntakeRefused):
    """The body is larger than any event of a provider."""

    code = "body_too_large"


class EventRefused(FulfilmentError):
    """The event is known and can start nothing: a starter raises this where time changes nothing."""

    code = "event_starts_nothing"


class EventIsApplied(FulfilmentError):
    """This event is applied: nothing is left to do."""

    code = "event_is_applied"


class EventIsSetAside(FulfilmentError):
    """This event is set aside already. Apply it again to take it back."""

    code = "event_is_set_aside"


class EventBodyGone(FulfilmentError):
    """The body of this event is not kept any more, so it cannot be applied."""

    code = "event_body_gone"
