"""Is this the first answer again? The question behind most of the promises."""

from idempotency.audit.evidence import Evidence
from idempotency.audit.findings import Finding, failed, passed, unanswered, unknown
from idempotency.audit.messages import Answer

RUNNING = frozenset({409, 425})  # what an endpoint says while the first request is still at work

_TWICE = "One order was carried out twice: with money, it was paid twice."
_LOST = "The client gets no answer for an order that was carried out, and will send it with a new key: paid twice."


def final_answer(evidence: Evidence) -> Answer | None:
    """The answer that every retry has to get; None while the first request is still open."""
    first, last = evidence.answer("first"), evidence.last("replay")
    if first is None or last is None:
        return first
    if last.status in RUNNING and first.status == 202:
        return None
    came_later = first.status == 202 and last.status != 202 and not last.same_as(first)
    return last if came_later else first


def repeat_is_known(evidence: Evidence) -> bool:
    """The unchanged request, sent again, is about the same thing; else finer questions are idle."""
    final, replay = final_answer(evidence), evidence.last("replay")
    if final is None or replay is None:
        return False
    return replay.is_replay(evidence.marker) or replay.names() == final.names()


def judge(evidence: Evidence, step: str, *, way: str, cause: str) -> Finding:
    """Did the step get the first answer again? `way` says how it was sent: "in quotes"."""
    final, again = final_answer(evidence), evidence.last(step)
    if again is None:
        return unanswered(evidence, step)
    if final is None:
        return unknown("The first request was accepted and its outcome did not come in time.")
    if step != "replay" and not repeat_is_known(evidence):
        return unknown("Not even the unchanged request is recognised when it comes again.")
    if again.same_as(final):
        return _same(evidence, again, way)
    return _differs(evidence, final, again, way=way, cause=cause)


def _same(evidence: Evidence, again: Answer, way: str) -> Finding:
    if again.is_replay(evidence.marker) or evidence.tells_apart():
        return passed(f"The request sent again {way} got the first answer, status and bytes.")
    return unknown(
        "The answers are the same, but so are those for two different keys: nobody can see from "
        "outside whether the order was carried out once. Count its effects where they are kept."
    )


def _differs(evidence: Evidence, first: Answer, again: Answer, *, way: str, cause: str) -> Finding:
    seen = f"The request sent again {way} got"
    if again.status >= 500:
        return failed(
            f"{seen} a {again.status}.", means=_LOST, cause="An error that nobody handles."
        )
    if again.status in RUNNING:
        return failed(
            f"{seen} a {again.status} although the first one had ended with {first.status}.",
            means=_LOST,
            cause="A known key is answered as a conflict: the first answer is not stored, or not sent.",
        )
    if again.refused:
        return failed(f"{seen} a {again.status} after a {first.status}.", means=_LOST, cause=cause)
    if again.names() != first.names() and not again.is_replay(evidence.marker):
        return failed(f"{seen} another thing: executed twice.", means=_TWICE, cause=cause)
    return failed(
        f"{seen} the same thing in another answer (status {first.status} then {again.status}, "
        f"{len(first.body)} then {len(again.body)} bytes).",
        means="A client that compares answers, or verifies a signature over them, takes it for another order.",
        cause="The answer is rendered anew on each retry, or kept in a form that loses its bytes (jsonb).",
    )
