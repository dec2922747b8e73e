"""What is struck: a work of the service, on rows that are made for it, and what they become."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

from fulfilment.models import Fulfilment
from fulfilment.reconcile import lookups
from tests.concurrency.killed.stage import Stage, first_in_line, lost_for_good
from tests.integration.fulfilment.support import held, now
from tests.integration.webhooks.support import about, deliver, stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What is struck: which work, on which rows, and what they become in the end."""

    work: str
    rows: Callable[[int], Iterable[Fulfilment]]  # so many, each made as it is needed or before
    subject: Callable[[Fulfilment], tuple[Any, ...]]
    ends: str
    least: int  # things that are said; fewer, and the recorder is not in between


def dispatching(stage: Stage, *, narration: str = "", ends: str = "fulfilled") -> Play:
    """A worker that has a new transfer sent."""
    return Play(
        work="dispatch",
        rows=lambda n: (stage.ordered(narration) for _ in range(n)),
        subject=lambda row: (row.pk,),
        ends=ends,
        least=100,
    )


def asking(stage: Stage) -> Play:
    """A round of look-ups that finds what was paid, and whose answer was lost."""
    hours = count(1)
    return Play(
        work="look_up",
        rows=lambda n: (
            first_in_line(stage.sent("sandbox:accept_then_reset"), hours=next(hours))
            for _ in range(n)
        ),
        subject=lambda _: (),
        ends="fulfilled",
        least=60,
    )


def missing(stage: Stage) -> Play:
    """A round of look-ups whose third answer makes it a fact that nothing arrived."""
    hours = count(1)

    def rows(n: int) -> Iterable[Fulfilment]:
        lost = lost_for_good(stage, n)
        for row in lost:
            for _ in range(2):
                evidence = lookups.query(now(row), actor="resolver")
                assert evidence
        return (first_in_line(row, hours=next(hours)) for row in lost)

    return Play(work="look_up", rows=rows, subject=lambda _: (), ends="fulfilled", least=60)


def sweeping(stage: Stage, *, marked: bool) -> Play:
    """A sweep that takes a row back from a worker that died behind its mark, or before it."""
    hours = count(1)

    def lost() -> Fulfilment:
        row = stage.ordered()
        held(row, sent=marked)
        return first_in_line(row, hours=next(hours))

    return Play(
        work="sweep",
        rows=lambda n: (lost() for _ in range(n)),
        subject=lambda _: (),
        ends="fulfilled",
        least=30,
    )


def told(stage: Stage, kind: str, *, narration: str, ends: str) -> Play:
    """A worker that applies an event of the provider about what was sent."""

    def event(row: Fulfilment) -> tuple[int]:
        [payment] = stage.provider.payments(row.reference)
        body = about(row, kind, provider_id=payment["id"])
        assert deliver(body, address="/v1/webhooks/sandbox").status_code == 200
        return (stored(body).pk,)

    return Play(
        work="apply",
        rows=lambda n: (stage.sent(narration) for _ in range(n)),
        subject=event,
        ends=ends,
        least=60,
    )
