"""The kinds of problem that the contract itself knows, in the words of their pages. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One kind of problem: what it means and what whoever gets it should do next.

    `safe_new_key` is a promise that nothing was done under the key, so it is false unless said: only
    an answer that was stored under the key, or given by a handler that owns it, can promise that.
    """

    code: str
    title: str
    status: int
    retry: str  # same_key | new_key | after | never
    meaning: str
    what_to_do: str
    safe_new_key: bool = False


CONTRACT = (
    ProblemKind(
        code="key_missing",
        title="This request needs an Idempotency-Key header.",
        status=400,
        retry="never",
        meaning=(
            "The endpoint changes something, so it only acts on a request that can be sent again safely. "
            "This request did nothing; an earlier one may have been applied."
        ),
        what_to_do=(
            "Make one random key (a UUID) for each action of your user, keep it until you have a final "
            "answer, and send it as Idempotency-Key with every try of that action. If this was a retry, "
            "send the key of the first try."
        ),
    ),
    ProblemKind(
        code="key_invalid",
        title="The Idempotency-Key header cannot be read as one key.",
        status=400,
        retry="never",
        meaning=(
            "A key has 1 to 255 visible ASCII characters and no comma, and is sent once, bare or in "
            "double quotes. This request did nothing; an earlier one may have been applied."
        ),
        what_to_do=(
            "Send exactly one Idempotency-Key header, for example with a UUID. If this was a retry, send "
            "the key of the first try."
        ),
    ),
    ProblemKind(
        code="body_invalid",
        title="The body of the request cannot be read.",
        status=400,
        retry="same_key",
        meaning=(
            "The body did not arrive whole, is not JSON in UTF-8, names a field twice, holds a number "
            "that JSON does not know, or nests too deeply. This request did nothing, and the key was not "
            "looked up: an earlier request with it may have been applied."
        ),
        what_to_do="Correct the body and send it with the same key. A new key would be a second action.",
    ),
    ProblemKind(
        code="body_too_large",
        title="The body of the request is larger than this service accepts with a key.",
        status=413,
        retry="never",
        meaning=(
            "A request is compared with its retries, so its size is bounded. This request did nothing, "
            "and the key was not looked up."
        ),
        what_to_do="Send less in one request; if this was a retry, send what was sent first.",
    ),
    ProblemKind(
        code="unauthenticated",
        title="The request carries no valid credentials.",
        status=401,
        retry="same_key",
        meaning=(
            "A key belongs to somebody, and the credentials that say to whom are missing, expired or "
            "wrong. This request did nothing, and the key was not looked up."
        ),
        what_to_do="Get new credentials, then send the same request with the same key.",
    ),
    ProblemKind(
        code="key_reused",
        title="This key was used for a different request.",
        status=422,
        retry="new_key",
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
        meaning=(
            "The service could not finish the request in time. Unless the connection was lost in the very "
            "moment of saving, nothing happened; the same key finds out."
        ),
        what_to_do="Send the same request with the same key after the seconds in Retry-After.",
    ),
)

# What a caller of the action gate may be told.
GATE = (
    ProblemKind(
        code="action_not_claimed",
        title="This action is not yours to run.",
        status=409,
        retry="never",
        meaning="Somebody else has done it, is doing it, or nobody knows yet. Nothing was done now.",
        what_to_do="Look at what became of it before you ask for it again.",
    ),
    ProblemKind(
        code="action_settled",
        title="This action was done before; it is not done again.",
        status=409,
        retry="never",
        meaning="It happened once, at the time in `settled_at`. Nothing was done now.",
        what_to_do="Go on with what came of it. There is nothing to repeat.",
    ),
    ProblemKind(
        code="action_in_progress",
        title="This action is being done right now.",
        status=409,
        retry="after",
        meaning="Somebody else asked for the same action a moment ago. Nothing was done now.",
        what_to_do="Wait as long as Retry-After says, then look at what came of it.",
    ),
    ProblemKind(
        code="action_held",
        title="Nobody knows whether this action happened.",
        status=409,
        retry="after",
        meaning=(
            "It was begun and its end was lost. It will not be guessed, and it is not run again until a "
            "person has found out. Nothing was done now."
        ),
        what_to_do=(
            "Ask whoever works on held actions: they look at the other system, then say that it happened "
            "or that it did not."
        ),
    ),
    ProblemKind(
        code="action_log_closed",
        title="The log of actions cannot be read.",
        status=503,
        retry="same_key",
        meaning="Whether the action was done before cannot be told, so it was not begun.",
        what_to_do="Ask again after the seconds in Retry-After.",
    ),
)
