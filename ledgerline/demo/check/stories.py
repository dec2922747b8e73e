"""The stories that `make demo-check` tells, in order."""

from collections.abc import Callable
from dataclasses import dataclass

from ledgerline.demo.check.checkouts import a_dying_web_process, one_event_thirty_times
from ledgerline.demo.check.crowd import a_busy_minute, one_tap_from_fifty_callers
from ledgerline.demo.check.deaths import a_frozen_worker, killed_workers
from ledgerline.demo.check.outages import valkey_flushed_and_restarted
from ledgerline.demo.check.system import System
from ledgerline.demo.check.unknowns import a_case_for_a_person, a_lost_answer


@dataclass(frozen=True, slots=True)
class Story:
    """One line of the report.

    `tell` returns a sentence of what it saw, or raises `AssertionError` with the cause.
    """

    name: str
    tell: Callable[[System], str]


# Told one act after the other. Stories of one act are told at once: none disturbs another's.
ACTS: tuple[tuple[Story, ...], ...] = (
    (Story("a  one tap, 50 callers", one_tap_from_fifty_callers),),
    (Story("b  a busy minute", a_busy_minute),),
    (
        Story("c  a lost answer", a_lost_answer),
        Story("d  a case for a person", a_case_for_a_person),
        Story("e  one event, 30 times", one_event_thirty_times),
        Story("f  killed workers", killed_workers),
    ),
    (Story("g  a frozen worker", a_frozen_worker),),
    (Story("h  Valkey loses all", valkey_flushed_and_restarted),),
    (Story("i  a dying web process", a_dying_web_process),),
)
STORIES = tuple(story for act in ACTS for story in act)
