"""What a connector declares: each part of it drives something, and nonsense is seen at start."""

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fulfilment.connectors import promises
from fulfilment.connectors.base import Capabilities, Dedupe
from fulfilment.reconcile import absence, policy
from fulfilment.reconcile.evidence import Finding
from tests.unit.fulfilment.build import (
    BLIND,
    DEADLINE,
    FENCE,
    FINAL,
    FOREVER,
    MARGIN,
    VISIBLE,
    WINDOW,
    absent,
    attempt,
    fact,
    minutes,
    situation,
)

TESTS = Path(__file__).parents[2]
CALL = DEADLINE + MARGIN
LONG_AGO = timedelta(hours=3)


def judged(capabilities: Capabilities, *facts: Any, ago: timedelta = LONG_AGO) -> str:
    """What the policy makes of one attempt that nobody heard of again."""
    one = situation(*facts, tries=(attempt(ago=ago),), capabilities=capabilities)
    verdict = policy.decide(one)
    return f"{type(verdict).__name__} {getattr(verdict, 'case', '')}".strip()


def three_absent(capabilities: Capabilities) -> str:
    return judged(capabilities, *absent(minutes(60), minutes(50), minutes(2)))


def case_due(capabilities: Capabilities) -> Any:
    return policy.case_due_at(situation(tries=(attempt(ago=LONG_AGO),), capabilities=capabilities))


def settled_at(capabilities: Capabilities) -> Any:
    one = situation(tries=(attempt(ago=LONG_AGO),), capabilities=capabilities)
    return absence.settling_ends_at(one)


# What is different where the promise is different, everything else being the same.
DRIVEN: dict[str, tuple[Capabilities, dict[str, Any], Callable[[Capabilities], Any]]] = {
    "dedupe": (FOREVER, {"dedupe": Dedupe.NONE}, three_absent),
    "dedupe_window": (WINDOW, {"dedupe_window": timedelta(hours=2)}, case_due),
    "errors_cached": (BLIND, {"errors_cached": True}, judged),
    "lookup_by_reference": (FOREVER, {"lookup_by_reference": False}, judged),
    "visible_after": (FOREVER, {"visible_after": minutes(55)}, three_absent),
    "not_found_final_after": (FOREVER, {"not_found_final_after": None}, settled_at),
}
# Driven where there are rows and events: by the test that is named.
DRIVEN_ELSEWHERE = {
    "webhook_has_id": "integration/webhooks/test_without_id.py",
    "webhook_authenticates_body": "integration/webhooks/test_routes.py",
    "late_reversal_horizon": "integration/fulfilment/test_horizon.py",
}


@pytest.mark.parametrize("name", DRIVEN)
def test_what_is_declared_decides_something(name: str) -> None:
    before, change, tell = DRIVEN[name]
    assert tell(before) != tell(replace(before, **change)), (
        f"{name} is declared by every connector, and nothing depends on it"
    )


def test_nothing_is_declared_in_vain() -> None:
    declared = {field.name for field in fields(Capabilities)}
    assert declared == DRIVEN.keys() | DRIVEN_ELSEWHERE.keys(), (
        "a capability that drives nothing makes people find out what nobody needs"
    )


@pytest.mark.parametrize(("name", "path"), DRIVEN_ELSEWHERE.items())
def test_what_is_driven_elsewhere_is_flipped_there(name: str, path: str) -> None:
    assert f"{name}=" in (TESTS / path).read_text(), f"{path} shows nothing about {name}"


def doubts(capabilities: Capabilities, *, has_events: bool = True) -> list[str]:
    found = promises.doubts(capabilities, call=CALL, has_events=has_events)
    return [doubt.sentence for doubt in found]


@pytest.mark.parametrize("capabilities", [FOREVER, WINDOW, replace(FOREVER, dedupe=Dedupe.NONE)])
def test_what_providers_really_promise_raises_no_doubt(capabilities: Capabilities) -> None:
    assert doubts(capabilities) == []
    assert doubts(capabilities, has_events=False) == []


BLIND_AND_LATE = replace(BLIND, not_found_final_after=None)


@pytest.mark.parametrize(
    ("capabilities", "has_events", "says"),
    [
        (BLIND_AND_LATE, False, "every lost answer goes to a person"),
        (
            replace(BLIND_AND_LATE, webhook_authenticates_body=False),
            True,
            "no event can settle anything",
        ),
        (BLIND, True, "it cannot be asked by reference"),
        (replace(FOREVER, not_found_final_after=VISIBLE / 2), True, "before it can be seen"),
        (replace(FOREVER, visible_after=timedelta(0)), True, "of one instant count as several"),
        (replace(FOREVER, dedupe=Dedupe.NONE, errors_cached=True), True, "that is recognised"),
        (replace(WINDOW, dedupe_window=CALL), True, "before a second call could end"),
        (replace(WINDOW, dedupe_window=FINAL), True, "before not found can be a fact"),
    ],
)
def test_promises_that_cannot_all_be_right_are_told(
    capabilities: Capabilities, has_events: bool, says: str
) -> None:
    [sentence] = doubts(capabilities, has_events=has_events)
    assert says in sentence


def test_a_duration_below_nothing_is_named() -> None:
    wrong = replace(FOREVER, visible_after=-VISIBLE, late_reversal_horizon=-FINAL)
    assert promises.negative(wrong) == ["visible_after", "late_reversal_horizon"]


def test_the_flips_are_about_unknown_rows() -> None:
    """Else the table above would compare what has nothing to do with the promise."""
    assert judged(FOREVER) == "Wait"
    assert LONG_AGO > FENCE
    assert three_absent(FOREVER) == "Requeue"
    assert judged(FOREVER, fact(Finding.DONE, ago=minutes(1))) == "Fulfil"
