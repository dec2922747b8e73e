"""Many at once with one key, and what comes after."""

from idempotency.audit.evidence import Evidence
from idempotency.audit.findings import Finding, Verdict, failed, passed, unanswered, unknown
from idempotency.audit.judges.again import RUNNING
from idempotency.audit.messages import Answer, Exchange

_NOTICEABLE = 0.5  # seconds: in a faster endpoint, waiting cannot be told from working
_PROMPT = 0.5  # of the time that the first request took


def at_most_one(evidence: Evidence) -> Finding:
    """However many come at once, one of them is carried out."""
    answers = evidence.answers("at once")
    if not answers:
        return unanswered(evidence, "at once")
    fresh = [answer for answer in answers if _is_fresh(answer, evidence)]
    things = {answer.names() for answer in fresh}
    if len(things) > 1:
        return failed(
            f"{len(answers)} requests at once with one key made {len(things)} different things.",
            means=f"One tap of one customer was carried out {len(things)} times at once: with money, it "
            f"was paid {len(things)} times.",
            cause="The key is looked up, the handler runs, and only then something is stored. Claim the key "
            "by an insert under a unique constraint before the handler runs; a lock around the look-up "
            "alone, or inside one process, does not do it.",
        )
    return _nothing_worse(answers, len(fresh), evidence)


def _nothing_worse(answers: list[Answer], fresh: int, evidence: Evidence) -> Finding:
    broken = sum(answer.status >= 500 for answer in answers)
    if broken:
        return failed(
            f"{broken} of {len(answers)} requests at once with one key got a 5xx.",
            means="Clients take it for an outage and try again, at the worst moment, some with a new key.",
            cause="The unique constraint works, and nobody turns its violation into an answer (409).",
        )
    if not evidence.tells_apart() and fresh > 1:
        return unknown(
            "The answers are the same, but so are those for two different keys: nobody can see from "
            "outside how often it was carried out. Count the effects where they are kept."
        )
    return passed(f"Of {len(answers)} at once with one key, at most one was carried out.")


def told_when(evidence: Evidence) -> Finding:
    """A 409 says when to ask again."""
    waiting = [a for step in ("at once", "after", "replay") for a in evidence.answers(step)]
    waiting = [answer for answer in waiting if answer.status in RUNNING]
    if not waiting:
        return unknown(
            "Nobody was told to come back: the endpoint was too quick, or others waited."
        )
    if all(answer.header("Retry-After") for answer in waiting):
        return passed("Everybody who was told to come back was told when.")
    return failed(
        "A 409 says nothing of when to ask again (no Retry-After).",
        means="Clients ask again at once and in a crowd, or give the order up as failed and use a new key.",
        cause="The header is missing from the answer for a request that is still running.",
    )


def prompt(evidence: Evidence) -> Finding:
    """Nobody is kept waiting for the first one."""
    exchanges = [exchange for exchange in evidence.all("at once") if exchange.answer]
    first = _the_one_that_ran(exchanges, evidence)
    if first is None:
        return unknown("Not exactly one of those at once was carried out.")
    if first.seconds < _NOTICEABLE:
        return unknown("The endpoint is too quick to see whether others wait for the first one.")
    late = [e for e in exchanges if e is not first and not _was_prompt(e, first)]
    if not late:
        return passed("While the first one ran, the others were answered at once.")
    return failed(
        f"{len(late)} others waited for the first one ({first.seconds:.1f} s) before they had an answer.",
        means="Each impatient client holds one more thread and one more connection of the database: a slow "
        "provider then stops everybody else.",
        cause="The insert blocks on the first request's open transaction, or a lock is waited for. "
        "A lock that is tried, not waited for, tells them at once.",
    )


def comes_to_the_answer(evidence: Evidence) -> Finding:
    """Whoever comes back after the crowd gets the one answer."""
    after = evidence.last("after")
    won = next((a for a in evidence.answers("at once") if a.succeeded), None)
    if after is None or won is None:
        return unanswered(evidence, "after")
    if at_most_one(evidence).verdict is Verdict.FAILED:
        return unknown("There is no one answer: see at-once.")
    if after.status in RUNNING:
        return unknown("The first request was still running after several polite retries.")
    if after.same_as(won) or (won.status == 202 and after.succeeded):
        return passed("The retry after the crowd got the one answer.")
    return failed(
        f"The retry after the crowd got a {after.status} that is not the answer of the one that won.",
        means="The client never learns what became of its order, or it was carried out once more.",
        cause="The answer of the request that won was not stored, or another one overwrote it.",
    )


def _is_fresh(answer: Answer, evidence: Evidence) -> bool:
    return answer.succeeded and not answer.is_replay(evidence.marker)


def _the_one_that_ran(exchanges: list[Exchange], evidence: Evidence) -> Exchange | None:
    """The one fresh success; where replays carry no marker, the success that came first."""
    fresh = [e for e in exchanges if e.answer and _is_fresh(e.answer, evidence)]
    if len({exchange.answer.names() for exchange in fresh if exchange.answer}) != 1:
        return None
    return min(fresh, key=lambda exchange: exchange.began + exchange.seconds)


def _was_prompt(exchange: Exchange, first: Exchange) -> bool:
    came_later = exchange.began > first.began + first.seconds * _PROMPT
    return came_later or exchange.seconds < first.seconds * _PROMPT
