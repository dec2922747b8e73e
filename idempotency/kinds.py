"""The kinds of problem that the contract itself knows, in the words of their pages. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One kind of problem: what it means and what whoever gets it should do next."""

    code: str
    title: str
    status: int
    retry: str  # same_key | new_key | after | never
    safe_new_key: bool
    meaning: str
    what_to_do: str


CONTRACT = (
    ProblemKind(
        code="key_missing",
        title="This request needs an Idempotency-Key header.",
        status=400,
        retry="new_key",
        safe_new_key=True,
        meaning=(
            "The endpoint changes something, so it only acts on a request that can be sent again safely. "
            "Nothing was done."
        ),
        what_to_do=(
            "Make one random key (a UUID) for each action of your user, keep it until you have a final "
            "answer, and send it as Idempotency-Key with every try of that action."
        ),
    ),
    ProblemKind(
        code="key_invalid",
        title="The Idempotency-Key header cannot be read as one key.",
        status=400,
        retry="new_key",
        safe_new_key=True,
        meaning=(
            "A key has 1 to 255 visible ASCII characters and no comma, and is sent once, bare or in "
            "double quotes. Nothing was done."
        ),
        what_to_do="Send exactly one Idempotency-Key header, for example with a UUID.",
    ),
    ProblemKind(
        code="body_invalid",
        title="The body of the request cannot be read.",
        status=400,
        retry="same_key",
        safe_new_key=True,
        meaning=(
            "The body is not JSON in UTF-8, names a member twice, holds a number JSON does not know, or "
            "is nested too deeply. Nothing was done and the key is still unused."
        ),
        what_to_do="Correct the body and send it again, with the same key or a new one.",
    ),
    ProblemKind(
        code="body_too_large",
        title="The body of the request is larger than this service accepts with a key.",
        status=413,
        retry="never",
        safe_new_key=True,
        meaning="A request is compared with its retries, so its size is bounded. Nothing was done.",
        what_to_do="Send less in one request.",
    ),
    ProblemKind(
        code="unauthenticated",
        title="A key belongs to somebody, and this request does not say to whom.",
        status=401,
        retry="same_key",
        safe_new_key=True,
        meaning="The request carried no valid credentials. Nothing was done and the key is still unused.",
        what_to_do="Sign in, then send the same request with the same key.",
    ),
    ProblemKind(
        code="key_reused",
        title="This key was used for a different request.",
        status=422,
        retry="new_key",
        safe_new_key=False,
        meaning=(
            "Method, path, query or body differ from the first request with this key. The first one and "
            "its answer are untouched; this one was not carried out."
        ),
        what_to_do=(
            "If you mean the first action, send it unchanged. If you mean another action, give it a key "
            "of its own; look first whether the earlier one already did what you want."
        ),
    ),
    ProblemKind(
        code="in_progress",
        title="The first request with this key is still being worked on.",
        status=409,
        retry="same_key",
        safe_new_key=False,
        meaning="Nothing is wrong. The action was accepted once and its outcome is not there yet.",
        what_to_do=(
            "Send the same request with the same key after the seconds in Retry-After. A new key would "
            "be a second action."
        ),
    ),
    ProblemKind(
        code="outcome_unknown",
        title="It is not known yet whether the action happened.",
        status=202,
        retry="same_key",
        safe_new_key=False,
        meaning=(
            "The action was begun and its result was lost. It is being found out, by asking the other "
            "system or by a person. It will not be guessed."
        ),
        what_to_do="Ask again with the same key after the seconds in Retry-After. Never use a new key for it.",
    ),
    ProblemKind(
        code="unavailable",
        title="This cannot be done right now.",
        status=503,
        retry="same_key",
        safe_new_key=False,
        meaning=(
            "The service could not finish the request in time. Unless the connection was lost in the very "
            "moment of saving, nothing happened; the same key finds out."
        ),
        what_to_do="Send the same request with the same key after the seconds in Retry-After.",
    ),
)
