"""The same request again: the answer, its marker, its headers, its cookies."""

from idempotency.audit.evidence import Evidence
from idempotency.audit.findings import Finding, failed, passed, unanswered, unknown
from idempotency.audit.judges import again

NOT_LOOKED_UP = (
    "The key is not looked up before the handler runs, or the first answer is not stored: is the "
    "endpoint guarded at all, and are the stored answers shared by all of its processes?"
)
_KEPT = ("Content-Type", "Location")


def first_works(evidence: Evidence) -> Finding:
    """Without one accepted request, nothing can be shown."""
    first = evidence.answer("first")
    if first is None:
        return unanswered(evidence, "first")
    if first.succeeded:
        return passed(f"It was accepted with {first.status}.")
    if first.status >= 500:
        return failed(
            f"It was answered with {first.status}.",
            means="The client does not know whether its order was carried out.",
            cause="An error that nobody handles, or a server that is down. Nothing else was sent.",
        )
    if first.status < 400:
        where = first.header("Location") or "nowhere"
        return unknown(f"It was redirected ({first.status}, {where}): give the URL behind that.")
    return unknown(
        f"It was refused with {first.status}: give a body and headers that the endpoint accepts. "
        "Nothing else was sent."
    )


def same_answer(evidence: Evidence) -> Finding:
    """Status and bytes."""
    return again.judge(evidence, "replay", way="unchanged", cause=NOT_LOOKED_UP)


def marker_on_replays_only(evidence: Evidence) -> Finding:
    """A client must be able to tell that nothing new has happened."""
    first, replay = evidence.answer("first"), evidence.last("replay")
    if first is None or replay is None:
        return unanswered(evidence, "replay")
    if first.is_replay(evidence.marker):
        return failed(
            f"The first answer carries {evidence.marker}: true.",
            means="The client believes that its new order is an old one.",
            cause="The marker is set on every answer of the guard.",
        )
    if replay.is_replay(evidence.marker):
        return passed(f"Only the replay carries {evidence.marker}: true.")
    if not replay.same_as(first):
        return unknown("No replay was seen that could carry it.")
    return failed(
        f"The replay does not carry {evidence.marker}: true.",
        means="The client cannot tell an old order from a new one; its own books may count it twice.",
        cause="The guard sets no marker, or one of another name: say which with --marker-header.",
    )


def headers_kept(evidence: Evidence) -> Finding:
    """What tells the client where its order is, and how to read the answer."""
    first, replay = again.final_answer(evidence), evidence.last("replay")
    if replay is None:
        return unanswered(evidence, "replay")
    if first is None or not again.repeat_is_known(evidence):
        return unknown("No replay was seen.")
    lost = [name for name in _KEPT if first.header(name) != replay.header(name)]
    if not lost:
        return passed("Content-Type and Location are those of the first answer.")
    return failed(
        f"The replay has another {' and another '.join(lost)} than the first answer, or none.",
        means="The client cannot read the answer or cannot find its order, and sends a new one.",
        cause="Only the body is stored; its headers have to be stored with it.",
    )


def cookies_stay(evidence: Evidence) -> Finding:
    """A cookie belongs to one answer."""
    first, replay = evidence.answer("first"), evidence.last("replay")
    if first is None or replay is None:
        return unanswered(evidence, "replay")
    cookies = {value for name, value in first.headers if name.lower() == "set-cookie"}
    sent_again = cookies & {v for name, v in replay.headers if name.lower() == "set-cookie"}
    if not cookies:
        return passed("The first answer sets no cookie.")
    if not sent_again:
        return passed("The first answer's cookies are not sent again.")
    return failed(
        "The replay sets the first answer's cookie again.",
        means="Whoever can send the key again gets a session that may have ended since.",
        cause="All headers are stored; store an allow-list, which never holds Set-Cookie.",
    )


def look_is_no_replay(evidence: Evidence) -> Finding:
    """A safe method ignores the key."""
    look, first = evidence.answer("look"), evidence.answer("first")
    if look is None or first is None:
        return unanswered(evidence, "look")
    if look.status >= 500:
        return failed(
            f"A GET with the key got a {look.status}.",
            means="A client that sends its key with every request cannot read what it needs.",
            cause="The guard runs on safe methods, too, and something in it expects a body.",
        )
    if look.is_replay(evidence.marker) or (first.body and look.same_as(first)):
        return failed(
            "A GET with the key got the stored answer of the order.",
            means="The client believes that it reads the present state, and reads an old answer.",
            cause="The guard does not look at the method. RFC 9110 has GET, HEAD, OPTIONS and TRACE as safe.",
        )
    return passed(f"A GET with the key got an answer of its own ({look.status}).")
