"""What a test tells its fake to do. The words are closed sets, so a type checker finds a slip."""

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypeAlias, get_args

from fulfilment.testing.books import Fact, Page

SendWord: TypeAlias = Literal[
    "done",  # it pays and says so
    "declined",  # it says, finally, that it will not
    "refused",  # nothing was begun, for a reason of ours
    "not_sent",  # the connection was never made
    "accepted",  # it has the order; `pay` or `decline` decides it later
    "answer_lost",  # it pays, and its answer is lost: unknown, and on its books
    "request_lost",  # the order is lost: unknown, and not on its books, until `pay` lets it arrive
    "raises",  # the connector has a bug; nothing is on the books
]
LookUpWord: TypeAlias = Literal[
    "done", "not_done", "in_progress", "not_found", "no_information", "raises"
]

WORDS: dict[str, tuple[str, ...]] = {"send": get_args(SendWord), "look_up": get_args(LookUpWord)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is to be done with one call."""

    word: str
    takes: timedelta = timedelta(0)


def tell(
    page: Page, call: str, word: str, *, reference: str | None, times: int | None, takes: timedelta
) -> None:
    """Write an instruction of the test's. Raises ValueError for a word that is not known."""
    if word not in WORDS[call]:
        raise ValueError(f"There is no answer {word!r}; there are {', '.join(WORDS[call])}.")
    if times is not None and times < 1:
        raise ValueError("times is one or more, or None: from now on")
    seconds = takes.total_seconds()
    page.write("told", call=call, word=word, reference=reference, times=times, takes=seconds)


def forget(page: Page) -> None:
    """Whatever was told before counts no more, be it used up or not."""
    page.write("forgot")


def next_of(page: Page, call: str, reference: str) -> Told | None:
    """What the test wants of this call, and it is used up; None: it said nothing.

    What was said of the reference comes before what was said of any; within them, what was said
    for a number of calls, in its order, before the last that was said for ever.
    """
    found = [rule for rule in _rules(page, call, reference) if _left(page, *rule)]
    if not found:
        return None
    number, rule = min(found, key=lambda one: _rank(*one))
    page.write("followed", rule=number)
    return Told(word=rule["word"], takes=timedelta(seconds=rule["takes"]))


def _rules(page: Page, call: str, reference: str) -> list[tuple[int, Fact]]:
    void = len(page.of("told")) - len(_told_since_forgotten(page))
    return [
        (number, fact)
        for number, fact in enumerate(page.of("told"))
        if number >= void and fact["call"] == call and fact["reference"] in (None, reference)
    ]


def _told_since_forgotten(page: Page) -> list[Fact]:
    facts = page.of("told", "forgot")
    after = max((n + 1 for n, fact in enumerate(facts) if fact["fact"] == "forgot"), default=0)
    return facts[after:]


def _left(page: Page, number: int, rule: Fact) -> bool:
    used = Counter(fact["rule"] for fact in page.of("followed"))
    return rule["times"] is None or used[number] < rule["times"]


def _rank(number: int, rule: Fact) -> tuple[Any, ...]:
    for_ever = rule["times"] is None
    return rule["reference"] is None, for_ever, -number if for_ever else number
