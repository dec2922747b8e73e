"""Airtime: the same rules as transfers, under a kind of its own, with the books as witness."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from fulfilment.connectors.base import (
    Declined,
    Done,
    Instruction,
    NotFound,
    NotSent,
    Outcome,
    Refused,
    Unknown,
)
from fulfilment.connectors.sandbox import AirtimeConnector
from tests.connectors.receiver import Receiver
from tests.connectors.sandbox import Sandbox, expect, instruction, paid, until

pytestmark = pytest.mark.processes

PHONE = "+2348012345678"


def airtime(sandbox: Sandbox) -> AirtimeConnector:
    return AirtimeConnector(sandbox.settings())


def top_up(reference: str, *, phone: str = PHONE, narration: str = "") -> Instruction:
    """NGN 500.00 of airtime."""
    return Instruction(
        reference=reference,
        amount=500_00,
        currency="NGN",
        instruction={"phone": phone, "narration": narration},
        deadline=timedelta(seconds=10),
    )


def test_a_top_up_is_done_booked_once_and_reported(
    reporting: Sandbox, receiver: Receiver, reference: str
) -> None:
    first = airtime(reporting).send(top_up(reference))
    again = airtime(reporting).send(top_up(reference))

    assert isinstance(first, Done)
    assert (first.amount, first.recipient) == (500_00, "**********5678")
    assert again == first, "a repetition must name the same top-up"
    [line] = reporting.payments(reference)
    assert (line["kind"], line["recipient"]) == ("airtime", {"phone": "**********5678"})
    assert paid(reporting) == 1, "sent twice, topped up twice"
    [delivery] = receiver.wait_for(reference)
    assert delivery.event["type"] == "airtime.succeeded"
    assert delivery.event["data"]["recipient"] == {"phone": "**********5678"}
    assert PHONE not in reporting.books_file.read_text(), "a whole telephone number was kept"


def test_thirty_at_once_are_one_top_up(sandbox: Sandbox, reference: str) -> None:
    start = threading.Barrier(30)

    def send(_: int) -> Outcome:
        start.wait(timeout=20)
        return airtime(sandbox).send(top_up(reference))

    with ThreadPoolExecutor(30) as threads:
        outcomes = list(threads.map(send, range(30)))

    assert {type(outcome) for outcome in outcomes} == {Done}
    assert sandbox.books()["totals"] == {"NGN": 500_00}, "find and book are not under one lock"


def test_a_transfer_and_a_top_up_never_mix(sandbox: Sandbox, reference: str) -> None:
    """One reference names a thing of each kind, as at providers with an API for each."""
    sandbox.connector().send(instruction(reference))

    expect(airtime(sandbox).look_up(reference), NotFound, "that is a transfer")
    expect(airtime(sandbox).send(top_up(reference)), Done, "the top-up's reference is free")
    assert [p["kind"] for p in sandbox.payments(reference)] == ["transfer", "airtime"]
    found = airtime(sandbox).look_up(reference)
    assert isinstance(found, Done)
    assert found.amount == 500_00, "the look-up found the transfer"


def test_another_number_under_the_same_reference_is_unknown_until_looked_up(
    sandbox: Sandbox, reference: str
) -> None:
    """The other number ends in the same digits: masked numbers must not be compared."""
    airtime(sandbox).send(top_up(reference))
    outcome = airtime(sandbox).send(top_up(reference, phone="+2349912345678"))

    assert isinstance(outcome, Unknown), f"'exists' is neither done nor failed: {outcome}"
    assert paid(sandbox) == 1


def test_faults_meet_airtime_too(reporting: Sandbox, receiver: Receiver, reference: str) -> None:
    connector = airtime(reporting)
    reporting.set_fault("accept_then_reset", times=1, match={"kind": "airtime"})
    expect(reporting.connector().send(instruction(reference)), Done, "a transfer is not met")
    expect(connector.send(top_up(reference)), Unknown, "a lost answer")
    expect(connector.look_up(reference), Done, "it was topped up all the same")

    declined = top_up(reference[::-1], narration="sandbox:decline")
    expect(connector.send(declined), Declined, "the narration asked for it")
    [delivery] = receiver.wait_for(reference[::-1])
    assert delivery.event["type"] == "airtime.failed"


def test_credit_never_comes_back(reporting: Sandbox, reference: str) -> None:
    airtime(reporting).send(top_up(reference, narration="sandbox:reversed_later(0)"))
    reporting.connector().send(
        instruction(reference[::-1], narration="sandbox:reversed_later(0.1)")
    )
    until(
        lambda: reporting.payments(reference[::-1])[0]["status"] == "reversed",
        what="a transfer, due later, to come back",
    )
    assert reporting.payments(reference)[0]["status"] == "succeeded"


def test_an_instruction_without_a_number_is_not_sent(sandbox: Sandbox, reference: str) -> None:
    expect(airtime(sandbox).send(instruction(reference)), NotSent, "it names no phone")
    expect(airtime(sandbox).send(top_up(reference, phone="call me")), Refused, "that is no number")
    assert sandbox.books()["payments"] == []


def test_top_ups_survive_the_process(sandbox: Sandbox, reference: str) -> None:
    first = airtime(sandbox).send(top_up(reference))
    sandbox.stop(kill=True)
    sandbox.start()

    assert airtime(sandbox).look_up(reference) == first, "a restart forgot the top-up"
    assert airtime(sandbox).send(top_up(reference)) == first
    assert paid(sandbox) == 1
