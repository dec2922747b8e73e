"""Faults in what is booked and reported: each asked for by narration or by rule, also at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fulfilment.connectors.base import Done, NoInformation, NotFound, Unknown
from tests.connectors.receiver import Receiver
from tests.connectors.sandbox import Sandbox, expect, instruction, paid, until

pytestmark = pytest.mark.processes


@pytest.fixture(params=["narration", "rule"])
def asked_by(request: pytest.FixtureRequest) -> str:
    """Both ways to ask must do the same."""
    return str(request.param)


def ask(sandbox: Sandbox, way: str, fault: str, **members: object) -> str:
    """Asks for a fault; the narration of the payment that it shall meet."""
    if way == "rule":
        sandbox.set_fault(fault, times=1, **members)
        return "INV-1001"
    number = members.get("seconds", members.get("books"))
    return f"rent sandbox:{fault}" + (f"({number:g})" if number is not None else "")


class TestWebhookFirst:
    def test_answers_the_call_only_after_our_2xx(
        self, reporting: Sandbox, receiver: Receiver, reference: str, asked_by: str
    ) -> None:
        narration = ask(reporting, asked_by, "webhook_first")
        heard = threading.Event()
        receiver.answer = lambda _: 200 if heard.wait(20) else 500
        with ThreadPoolExecutor(1) as thread:
            wanted = instruction(reference, narration=narration)
            sending = thread.submit(reporting.connector().send, wanted)
            receiver.wait_for(reference)

            assert not sending.done(), "it answered although the event was not acknowledged"
            assert paid(reporting) == 1, "the event must be about something that is booked"
            heard.set()
            expect(sending.result(timeout=10), Done, "the event was acknowledged")
        [delivery] = receiver.about(reference)
        assert delivery.event["type"] == "transfer.succeeded"

    def test_waits_through_refusals(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        receiver.answer_in_turn(500, 500, 200)
        wanted = instruction(reference, narration="sandbox:webhook_first")

        expect(reporting.connector().send(wanted), Done, "the third delivery was acknowledged")
        assert len(receiver.about(reference)) == 3, "it did not wait for the 2xx"

    def test_never_answers_without_it(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        receiver.answer_in_turn(500)
        wanted = instruction(reference, narration="sandbox:webhook_first(1)")

        outcome = reporting.connector().send(wanted)

        assert isinstance(outcome, Unknown), f"it answered without our 2xx: {outcome}"
        assert paid(reporting) == 1

    def test_keeps_nobody_else_waiting(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        """Looked up or repeated meanwhile it is answered from the books."""
        over = threading.Event()
        receiver.answer = lambda _: 200 if over.wait(20) else 500
        connector = reporting.connector()
        wanted = instruction(reference, narration="sandbox:webhook_first")
        with ThreadPoolExecutor(1) as thread:
            first = thread.submit(connector.send, wanted)
            receiver.wait_for(reference)
            expect(connector.look_up(reference), Done, "it is booked")
            expect(connector.send(wanted), Done, "it is booked")
            assert not first.done()
            over.set()


class TestNoWebhook:
    def test_reports_nothing(
        self, reporting: Sandbox, receiver: Receiver, reference: str, asked_by: str
    ) -> None:
        narration = ask(reporting, asked_by, "no_webhook")
        reporting.connector().send(instruction(reference, narration=narration))
        reporting.connector().send(instruction(reference[::-1]))

        receiver.wait_for(reference[::-1])
        assert receiver.about(reference) == []
        assert paid(reporting) == 2

    def test_goes_together_with_a_lost_answer_and_an_outage_of_look_ups(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        """The whole silence: without it a person's case would settle itself."""
        wishes = "sandbox:accept_then_reset sandbox:lookup_outage sandbox:no_webhook"
        connector = reporting.connector()

        expect(connector.send(instruction(reference, narration=wishes)), Unknown, "a lost answer")
        expect(connector.look_up(reference), NoInformation, "look-ups are out")
        assert reporting.events(reference) == []
        assert paid(reporting) == 1


class TestDuplicate:
    def test_is_two_events_of_one_payment_each_delivered_twice_at_once(
        self, reporting: Sandbox, receiver: Receiver, reference: str, asked_by: str
    ) -> None:
        narration = ask(reporting, asked_by, "duplicate")
        reporting.connector().send(instruction(reference, narration=narration))

        tries = receiver.wait_for(reference, count=4)

        ids = sorted(d.id for d in tries)
        assert len(ids) == 4
        assert len(set(ids)) == 2, f"two events with two ids, each twice: {ids}"
        assert ids[0] == ids[1], f"two events with two ids, each twice: {ids}"
        data = [d.event["data"] for d in tries]
        assert all(one == data[0] for one in data), "all four are about the same payment"
        assert paid(reporting) == 1


class TestWrongAmount:
    def test_is_booked_answered_and_reported_with_one_unit_too_much(
        self, reporting: Sandbox, receiver: Receiver, reference: str, asked_by: str
    ) -> None:
        narration = ask(reporting, asked_by, "wrong_amount")
        connector, wanted = reporting.connector(), instruction(reference, narration=narration)

        outcome = connector.send(wanted)

        assert isinstance(outcome, Done)
        assert outcome.amount == 100_01
        assert reporting.books()["totals"] == {"NGN": 100_01}
        [delivery] = receiver.wait_for(reference)
        assert delivery.event["data"]["amount"] == 100_01
        reporting.stop(kill=True)
        reporting.start()
        assert connector.look_up(reference) == outcome
        again = connector.send(wanted)
        assert again == outcome, f"the same request must meet the same booking: {again}"


class TestCached500:
    @pytest.mark.parametrize("books", [False, True])
    def test_is_the_answer_to_every_repetition(
        self, reporting: Sandbox, receiver: Receiver, reference: str, asked_by: str, books: bool
    ) -> None:
        narration = ask(reporting, asked_by, "cached_500", books=books)
        connector, wanted = reporting.connector(), instruction(reference, narration=narration)

        expect(connector.send(wanted), Unknown, "the first call gets a 500")
        expect(connector.send(wanted), Unknown, "the repetition gets the same 500")
        reporting.stop(kill=True)
        reporting.start()
        again = connector.send(wanted)

        assert isinstance(again, Unknown), f"a restart forgot the cached 500: {again}"
        assert "HTTP 500" in again.reason
        found = Done if books else NotFound
        expect(connector.look_up(reference), found, "a look-up says what is booked")
        assert paid(reporting) == int(books)
        assert len(reporting.events(reference)) == int(books)

    def test_meets_only_its_reference(self, reporting: Sandbox, reference: str) -> None:
        connector = reporting.connector()
        connector.send(instruction(reference, narration="sandbox:cached_500"))

        expect(connector.send(instruction(reference[::-1])), Done, "another reference")


class TestReversedLater:
    def test_succeeds_first_and_comes_back_afterwards(
        self, reporting: Sandbox, receiver: Receiver, reference: str, asked_by: str
    ) -> None:
        narration = ask(reporting, asked_by, "reversed_later", seconds=0.5)
        outcome = reporting.connector().send(instruction(reference, narration=narration))

        expect(outcome, Done, "first it succeeds")
        first, second = receiver.wait_for(reference, count=2)
        assert (first.event["type"], second.event["type"]) == (
            "transfer.succeeded", "transfer.reversed"
        )  # fmt: skip
        assert second.event["data"]["status"] == "reversed"
        assert second.id != first.id
        [line] = reporting.payments(reference)
        assert line["status"] == "reversed"
        assert paid(reporting) == 0, "money that came back did not leave"
        assert reporting.books()["totals"] == {}

    def test_comes_back_although_the_provider_was_down_when_it_was_due(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        wanted = instruction(reference, narration="sandbox:reversed_later(1.5)")
        reporting.connector().send(wanted)
        assert reporting.payments(reference)[0]["status"] == "succeeded"
        reporting.stop(kill=True)

        reporting.start()

        until(
            lambda: reporting.payments(reference)[0]["status"] == "reversed",
            what="the payment to come back after a restart",
        )
        receiver.wait_for(reference, count=2)
        reporting.stop()
        reporting.start()
        assert reporting.payments(reference)[0]["status"] == "reversed"
        assert len(reporting.events(reference)) == 2, "a restart reversed it again"

    def test_does_not_happen_to_a_decline(self, reporting: Sandbox, reference: str) -> None:
        wishes = "sandbox:decline sandbox:reversed_later(0)"
        reporting.connector().send(instruction(reference, narration=wishes))
        reporting.connector().send(
            instruction(reference[::-1], narration="sandbox:reversed_later(0.1)")
        )
        until(
            lambda: reporting.payments(reference[::-1])[0]["status"] == "reversed",
            what="the other payment, due later, to come back",
        )
        assert reporting.payments(reference)[0]["status"] == "failed"


def test_a_rule_about_what_is_booked_outlives_a_call_that_books_nothing(
    reporting: Sandbox, reference: str
) -> None:
    reporting.set_fault("wrong_amount", times=1)
    wanted = instruction(reference, narration="sandbox:refuse(1)")
    reporting.connector().send(wanted)

    outcome = reporting.connector().send(wanted)

    assert isinstance(outcome, Done)
    assert outcome.amount == 100_01, "the refused call used the rule up"
