"""The provider misbehaves towards those it was told to, as often as it was told to."""

import json
from typing import Any

import pytest

from fulfilment.connectors.base import Done, NoInformation, Refused, Unknown
from tests.connectors.sandbox import Sandbox, expect, instruction

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    ("wish", "outcome", "booked"),
    [
        ("sandbox:hang(30)", Unknown, 1),
        ("sandbox:accept_then_reset", Unknown, 1),
        ("sandbox:lose_request", Unknown, 0),
        ("sandbox:refuse(1)", Refused, 0),
        ("sandbox:status(502)", Unknown, 0),
        ("sandbox:what_is_this", Done, 1),
    ],
)
def test_a_fault_can_be_asked_for_in_the_narration_of_one_payment(
    sandbox: Sandbox, reference: str, wish: str, outcome: type, booked: int
) -> None:
    connector = sandbox.connector()
    wanted = instruction(reference, narration=f"rent {wish} please", seconds=1)

    expect(connector.send(wanted), outcome, f"the narration asked for {wish}")
    assert len(sandbox.payments(reference)) == booked
    expect(connector.send(instruction(reference[::-1])), Done, "others must not be met")


def test_a_refusal_lasts_as_many_calls_as_asked(sandbox: Sandbox, reference: str) -> None:
    wanted = instruction(reference, narration="sandbox:refuse(2)")

    outcomes = [type(sandbox.connector().send(wanted)) for _ in range(3)]

    assert outcomes == [Refused, Refused, Done], "refuse(2) meets the first two calls"


def test_a_payment_can_hide_from_look_ups_until_the_fault_is_deleted(
    sandbox: Sandbox, reference: str
) -> None:
    """Two wishes in one narration: the answer is lost and nobody can ask."""
    connector = sandbox.connector()
    wishes = "sandbox:accept_then_reset sandbox:lookup_outage"

    expect(connector.send(instruction(reference, narration=wishes)), Unknown, "a lost answer")
    expect(connector.look_up(reference), NoInformation, "this payment hides")
    removed = sandbox.clear_faults("narration=sandbox:lookup_outage")
    assert removed == 1, "a fault from a narration must be deletable by it"
    expect(connector.look_up(reference), Done, "the outage is over")


def test_a_fault_meets_only_what_it_matches_and_only_so_often(
    sandbox: Sandbox, reference: str
) -> None:
    sandbox.set_fault("refuse", times=1, match={"account": "0123456780", "bank": "058"})
    connector = sandbox.connector()
    mine, other = reference, reference[::-1]

    expect(connector.send(instruction(other)), Done, "another account must not be met")
    expect(
        connector.send(instruction(mine, account="0123456780")),
        Refused,
        "account and bank match",
    )
    assert sandbox.faults() == [], "a fault that is used up must not be listed"
    expect(connector.send(instruction(mine, account="0123456780")), Done, "the fault is used up")


def test_the_first_fault_that_matches_wins(sandbox: Sandbox, reference: str) -> None:
    sandbox.set_fault("ok", match={"narration": "INV-1001"})
    sandbox.set_fault("refuse")
    connector = sandbox.connector()

    expect(connector.send(instruction(reference)), Done, "the earlier 'ok' shields it")
    expect(
        connector.send(instruction(reference[::-1], narration="rent")),
        Refused,
        "the 'ok' does not match it",
    )


@pytest.mark.parametrize(
    "rule",
    [{"fault": "explode"}, {"fault": "hang", "seconds": -1}, {"fault": "hang", "times": 0},
     {"fault": "ok", "match": {"colour": "red"}}, {"fault": "refuse", "type": "bored"}],
    ids=json.dumps,
)  # fmt: skip
def test_a_fault_that_makes_no_sense_is_refused(sandbox: Sandbox, rule: dict[str, Any]) -> None:
    with pytest.raises(OSError, match="400"):
        sandbox.request("POST", "/faults", rule)
    assert sandbox.faults() == []
