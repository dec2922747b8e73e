"""The refusals of the intake as `application/problem+json`, each with a page that explains it."""

from fulfilment.webhooks.errors import (
    EventMalformed,
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
)

_CHALLENGE = (("WWW-Authenticate", "Webhook-Signature"),)  # a 401 names a scheme (RFC 9110)


def answer_to(error: IntakeRefused) -> Answer:
    """The answer for a refusal; nothing in it tells what the secret is."""
    headers = _CHALLENGE if isinstance(error, SignatureRefused) else ()
    return problem(error.code, detail=str(error), headers=headers)


def unavailable() -> Answer:
    """The answer where nothing could be stored: the sender tries again."""
    return problem("unavailable", headers=(("Retry-After", "5"),))
