"""Somebody else's request under the same key, and refusals."""

from idempotency.audit.evidence import Evidence
from idempotency.audit.findings import Finding, failed, passed, unanswered, unknown
from idempotency.audit.messages import Answer


def stranger_gets_nothing(evidence: Evidence) -> Finding:
    """A key belongs to one principal; another's key of the same text is another key."""
    theirs, first = evidence.answer("somebody else"), evidence.answer("first")
    if theirs is None or first is None:
        return unanswered(evidence, "somebody else")
    if theirs.is_replay(evidence.marker) or (evidence.tells_apart() and theirs.same_as(first)):
        return failed(
            "Another user's request under the same key got the first user's answer.",
            means="One customer reads another's answer, and believes that his own order was carried out.",
            cause="The key alone names the record: it must be (principal, key), looked up after authentication.",
        )
    return _own(theirs)


def _own(theirs: Answer) -> Finding:
    if theirs.status >= 500:
        return failed(
            f"Another user's request under the same key got a {theirs.status}.",
            means="Whoever guesses or repeats a key can break another's order.",
            cause="A unique constraint over the key alone, whose violation nobody handles.",
        )
    if theirs.status in (401, 403):
        return unknown(
            f"The other user was refused with {theirs.status}: are its credentials good?"
        )
    if theirs.succeeded:
        return passed("Another user's request under the same key is a request of its own.")
    return unknown(
        f"Another user's request under the same key got a {theirs.status}: either the endpoint refuses "
        "this user's order, or the key is occupied by the first user (then it must be scoped)."
    )


def refusal_replays(evidence: Evidence) -> Finding:
    """A refused order is refused again, in the same words."""
    refusals = evidence.answers("refused")
    if len(refusals) < 2:
        return unanswered(evidence, "refused")
    first, again = refusals
    if first.succeeded:
        return unknown(
            f"The body of --bad-body was accepted ({first.status}); give one that is refused."
        )
    if max(first.status, again.status) >= 500:
        return failed(
            f"A bad body got a {first.status}, then a {again.status}.",
            means="A client's mistake looks like an outage, and is tried again and again.",
            cause="An error that nobody handles.",
        )
    if first.same_as(again):
        return passed(f"The refusal ({first.status}) came again, byte for byte.")
    return failed(
        f"The same bad body under the same key got a {first.status}, then a {again.status}"
        f"{'' if first.status != again.status else ' in other words'}.",
        means="The client does not know whether its order was refused or is still to come.",
        cause="Refusals are not stored, or are stored as if the request were still running.",
    )
