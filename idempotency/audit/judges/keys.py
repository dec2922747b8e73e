"""The key itself: its two forms, and what is none."""

from idempotency.audit.evidence import Evidence
from idempotency.audit.findings import Finding, failed, passed, unanswered
from idempotency.audit.judges import again
from idempotency.audit.messages import Answer


def quoted_is_bare(evidence: Evidence) -> Finding:
    """RFC 9651's string and the bare form of older clients."""
    return again.judge(
        evidence,
        "quoted",
        way="with its key in double quotes",
        cause="The header's text is the key, quotes and all. The draft standard has quotes, older clients "
        "have none, and one action may be sent by both (an update of the app between two tries).",
    )


def key_is_needed(evidence: Evidence) -> Finding:
    """400 without one."""
    bare = evidence.answer("no key")
    if bare is None:
        return unanswered(evidence, "no key")
    if bare.succeeded:
        return failed(
            f"A request without a key was carried out ({bare.status}).",
            means="A client that forgets the header is not protected and never learns it: its retry pays twice.",
            cause="The key is optional here. If that is meant and documented (for old clients), so be it.",
        )
    return _is_refusal(bare, "A request without a key")


def long_key(evidence: Evidence) -> Finding:
    """Refused, or kept whole."""
    answers = evidence.answers("long key")
    if not answers:
        return unanswered(evidence, "long key")
    if not answers[0].succeeded:
        return _is_refusal(answers[0], "A key of 4,000 characters")
    if len(answers) > 1 and answers[1].same_as(answers[0]):
        return failed(
            "Two keys of 4,000 characters that differ in the last one got the same answer.",
            means="Two orders are taken for one: the second one is never carried out.",
            cause="The key is cut to the size of a column.",
        )
    return passed("A key of 4,000 characters is accepted and kept whole.")


def odd_characters(evidence: Evidence) -> Finding:
    """Control characters and other than ASCII: proxies change them, so they name nothing."""
    seen = [
        ("control character", "a control character"),
        ("not ASCII", "a character outside ASCII"),
    ]
    answered = [(evidence.answer(step), words) for step, words in seen]
    findings = [
        _unless_taken(answer, f"A key with {words}", cause=_ODD)
        for answer, words in answered
        if answer
    ]
    if not findings:
        return unanswered(evidence, "not ASCII")
    return next((finding for finding in findings if finding.means), findings[-1])


def two_keys(evidence: Evidence) -> Finding:
    """A request that names two keys names none."""
    answer = evidence.answer("two keys")
    if answer is None:
        return unanswered(evidence, "two keys")
    return _unless_taken(answer, "A request with two different keys", cause=_TWO)


_ODD = "The header's text is taken as it comes. 1 to 255 visible ASCII characters are enough for every client."
_TWO = (
    "The server joins repeated headers with a comma, or keeps one of them: the guard has to refuse a "
    "comma, and the server must not drop a header in silence."
)


def _unless_taken(answer: Answer, what: str, *, cause: str) -> Finding:
    if not answer.succeeded:
        return _is_refusal(answer, what)
    return failed(
        f"{what} was carried out ({answer.status}).",
        means="On its next way (another proxy, another server) the same header may name another key, and "
        "the retry is a second order: paid twice.",
        cause=cause,
    )


def _is_refusal(answer: Answer, what: str) -> Finding:
    if answer.refused:
        return passed(f"{what} was refused with {answer.status}.")
    return failed(
        f"{what} got a {answer.status}.",
        means="A client's mistake looks like an outage, and is tried again and again.",
        cause="The header reaches the database or a parser without having been checked.",
    )
