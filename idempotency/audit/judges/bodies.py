"""What the guard takes for the same request, and what not."""

from idempotency.audit.evidence import Evidence
from idempotency.audit.findings import Finding, failed, passed, unanswered
from idempotency.audit.judges import again

_NOT_COMPARED = (
    "The guard does not keep a digest of the first request, or not of its body, or joins it to the "
    "key, so that another body is simply another key."
)


def other_body_refused(evidence: Evidence) -> Finding:
    """422, or another 4xx."""
    return _refused(evidence, "other body", cause=_NOT_COMPARED)


def answer_unspoilt(evidence: Evidence) -> Finding:
    """After another body was tried, the first request still gets its answer."""
    return again.judge(
        evidence,
        "replay again",
        way="after another body had been tried under its key",
        cause="The other request overwrote or deleted what was stored under the key.",
    )


def order_of_members(evidence: Evidence) -> Finding:
    """JSON is compared as a value."""
    return again.judge(
        evidence,
        "other order",
        way="with its JSON members in another order",
        cause="The raw bytes are compared; a client that encodes its order anew on a retry sends others.",
    )


def chunked_body(evidence: Evidence) -> Finding:
    """A body without a Content-Length is a body."""
    answer = evidence.answer("chunked")
    if answer is not None and answer.status == 411:
        return passed("Bodies without a Content-Length are refused (411).")
    finding = again.judge(
        evidence,
        "chunked",
        way="in chunks (without a Content-Length)",
        cause="Django takes a body without Content-Length for an empty one; the guard has to read it.",
    )
    other = evidence.answer("chunked other body")
    if other is None or other.status >= 400:
        return finding
    return _refused(
        evidence,
        "chunked other body",
        cause="A body without Content-Length is taken for an empty one, so all of them are the same.",
    )


def _refused(evidence: Evidence, step: str, *, cause: str) -> Finding:
    first, other = evidence.answer("first"), evidence.answer(step)
    if first is None or other is None:
        return unanswered(evidence, step)
    if other.refused:
        return passed(f"Another body under the key got a {other.status}.")
    if other.status >= 500:
        return failed(
            f"Another body under the key got a {other.status}.",
            means="A client's mistake looks like an outage, and is tried again and again.",
            cause="An error that nobody handles.",
        )
    if other.is_replay(evidence.marker) or other.names() == first.names():
        return failed(
            "Another body under the key got the answer of the first one.",
            means="The client believes that its second order was carried out. It never was: money that "
            "somebody waits for was not paid.",
            cause=cause,
        )
    return failed(
        "Another body under the key was carried out as well.",
        means="A retry that was damaged or corrected on its way is a second order: paid twice.",
        cause=cause,
    )
