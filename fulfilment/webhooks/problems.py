"""The refusals of the intake as `application/problem+json`, each with a page that explains it."""

from fulfilment.webhooks.errors import (
    EventMalformed,
    EventNotPosted,
    IntakeRefused,
    ProviderUnknown,
    SignatureRefused,
)
from idempotency import Answer, ProblemKind, problem
from idempotency.problems import register

register(
    ProblemKind(
        code=SignatureRefused.code,
        title="The signature does not fit",
        status=401,
        retry="same_key",
        safe_new_key=False,
        meaning="Nobody knows who sent this body, or it was sent too long ago. Nothing was stored.",
        what_to_do=(
            "Sign the raw body with the secret that both sides agreed on, as Standard Webhooks says, "
            "with the time of this delivery. A clock may be five minutes off at most."
        ),
    ),
    ProblemKind(
        code=ProviderUnknown.code,
        title="No such provider",
        status=404,
        retry="never",
        safe_new_key=False,
        meaning="Nobody sends events to this address. Nothing was stored.",
        what_to_do="Check the last part of the address: it is the provider's name.",
    ),
    ProblemKind(
        code=EventMalformed.code,
        title="The body is not an event",
        status=400,
        retry="never",
        safe_new_key=False,
        meaning="The signature fits, and the body cannot be read as an event. Nothing was stored.",
        what_to_do="Send a JSON object in UTF-8 with an id and a type, both texts.",
    ),
    ProblemKind(
        code=EventNotPosted.code,
        title="Events come by POST",
        status=405,
        retry="never",
        safe_new_key=False,
        meaning="This address takes events and shows none. Nothing was read and nothing was stored.",
        what_to_do="Send the event with the method POST.",
    ),
)

# A 401 names a scheme, and a 405 the methods that there are (RFC 9110).
_HEADERS: dict[type[IntakeRefused], tuple[tuple[str, str], ...]] = {
    SignatureRefused: (("WWW-Authenticate", "Webhook-Signature"),),
    EventNotPosted: (("Allow", "POST"),),
}


def answer_to(error: IntakeRefused) -> Answer:
    """The answer for a refusal; nothing in it tells what the secret is."""
    return problem(error.code, detail=str(error), headers=_HEADERS.get(type(error), ()))


def unavailable() -> Answer:
    """The answer where nothing could be stored: the sender tries again."""
    return problem("unavailable", headers=(("Retry-After", "5"),))
