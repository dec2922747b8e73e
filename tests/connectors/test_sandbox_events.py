"""What the provider reports, and that it goes on until it is heard."""

import base64
import itertools
import threading
from datetime import datetime

import pytest

from fulfilment.connectors.sandbox.provider.endpoint import signature
from tests.connectors.receiver import SIGNING_SECRET, Receiver
from tests.connectors.sandbox import ACCOUNT, Sandbox, instruction, until

pytestmark = pytest.mark.processes


class TestAnEvent:
    def test_says_what_was_booked_and_whom_it_is_about(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        reporting.connector().send(instruction(reference))

        [delivery] = receiver.wait_for(reference)

        event, [line] = delivery.event, reporting.payments(reference)
        assert delivery.id == event["id"], "webhook-id and the event's id must agree"
        assert event["id"].startswith("evt_")
        assert (event["type"], event["account"], event["livemode"]) == (
            "transfer.succeeded", "acct_sandbox", False
        )  # fmt: skip
        assert datetime.fromisoformat(event["created_at"]).tzinfo, "a time without zone"
        named = ("id", "reference", "status", "amount", "currency", "recipient")
        assert event["data"] == {name: line[name] for name in named}
        assert ACCOUNT.encode() not in delivery.body, "a whole account number was sent about"

    def test_is_sent_of_a_decline_too(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        reporting.connector().send(instruction(reference, narration="sandbox:decline"))

        [delivery] = receiver.wait_for(reference)
        assert delivery.event["type"] == "transfer.failed"
        assert delivery.event["data"]["status"] == "failed"

    def test_is_sent_once_of_a_payment_asked_for_twice(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        reporting.connector().send(instruction(reference))
        reporting.connector().send(instruction(reference))
        reporting.connector().send(instruction(reference[::-1]))

        receiver.wait_for(reference[::-1])
        assert len(receiver.about(reference)) == 1, "a repetition was reported as a second payment"

    def test_is_signed_as_the_specification_says(self) -> None:
        """The specification's own vector; the key is 24 bytes behind the prefix."""
        key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        signed = signature(
            b'{"test": 2432232314}',
            event_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp="1614265330",
            key=key,
        )
        assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


class TestADelivery:
    @pytest.mark.parametrize("refusal", [500, 301, 404, 401])
    def test_is_repeated_until_2xx_with_the_same_id_and_bytes(
        self, reporting: Sandbox, receiver: Receiver, reference: str, refusal: int
    ) -> None:
        receiver.answer_in_turn(refusal, refusal, 204)
        reporting.connector().send(instruction(reference))

        tries = receiver.wait_for(reference, count=3)

        assert len({d.id for d in tries}) == 1, "a retry must carry the same webhook-id"
        assert len({d.body for d in tries}) == 1, "a retry must carry the same bytes"
        until(
            lambda: reporting.events(reference)[0]["delivered_at"],
            what="the event to be taken as delivered",
        )
        log = reporting.log(reference)
        assert [(d["attempt"], d["status"]) for d in log] == [(1, refusal), (2, refusal), (3, 204)]
        assert [bool(d["next_at"]) for d in log] == [True, True, False]
        waited = [b.at - a.at for a, b in itertools.pairwise(tries)]
        assert waited[0] >= 0.5, f"the first retry came too soon: {waited}"
        assert waited[1] >= 1, f"the second retry came too soon: {waited}"

    def test_is_not_repeated_after_a_2xx(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        """The next event has come and gone through a retry, so a repetition would be here."""
        reporting.connector().send(instruction(reference))
        receiver.wait_for(reference)
        receiver.answer_in_turn(500, 200)
        reporting.connector().send(instruction(reference[::-1]))

        receiver.wait_for(reference[::-1], count=2)
        assert len(receiver.about(reference)) == 1, "an event that arrived was delivered again"

    def test_waits_for_a_receiver_that_is_down(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        receiver.go_down()
        reporting.connector().send(instruction(reference))
        until(lambda: reporting.log(reference), what="a first attempt")
        [first] = reporting.log(reference)[:1]
        assert (first["status"], first["error"]) == (None, "ConnectionRefusedError")

        receiver.come_up()

        receiver.wait_for(reference)

    def test_that_hangs_holds_up_no_other(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        over = threading.Event()
        receiver.answer = lambda d: over.wait(20) and 200 if reference in str(d.body) else 200
        try:
            reporting.connector().send(instruction(reference))
            receiver.wait_for(reference)
            reporting.connector().send(instruction(reference[::-1]))
            receiver.wait_for(reference[::-1])
        finally:
            over.set()

    def test_that_arrives_between_two_retries_ends_them(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        """The other event's retry comes later than the one that must not."""
        receiver.answer_in_turn(500, 200)
        reporting.connector().send(instruction(reference))
        [first] = receiver.wait_for(reference)
        assert reporting.deliver(first.id) == [200]
        receiver.answer_in_turn(500, 200)
        reporting.connector().send(instruction(reference[::-1]))

        receiver.wait_for(reference[::-1], count=2)
        assert len(receiver.about(reference)) == 2, "an event that arrived was retried"


class TestAfterARestart:
    @pytest.mark.parametrize("kill", [False, True], ids=["SIGTERM", "SIGKILL"])
    def test_what_had_not_arrived_is_delivered_with_the_same_id(
        self, reporting: Sandbox, receiver: Receiver, reference: str, kill: bool
    ) -> None:
        receiver.answer_in_turn(503)
        reporting.connector().send(instruction(reference))
        [first, *_] = receiver.wait_for(reference)
        reporting.stop(kill=kill)
        receiver.answer_in_turn(200)
        before = len(receiver.about(reference))

        reporting.start()

        later = receiver.wait_for(reference, count=before + 1)[before:]
        assert {(d.id, d.body) for d in later} == {(first.id, first.body)}

    def test_what_had_arrived_is_not_delivered_again(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        reporting.connector().send(instruction(reference))
        receiver.wait_for(reference)
        until(lambda: reporting.events(reference)[0]["delivered_at"], what="the receipt to be kept")
        at = reporting.events(reference)[0]["delivered_at"]
        reporting.stop(kill=True)
        reporting.start()
        reporting.connector().send(instruction(reference[::-1]))

        receiver.wait_for(reference[::-1])  # outstanding ones go first
        assert len(receiver.about(reference)) == 1, "the receipt was lost with the process"
        assert reporting.events(reference)[0]["delivered_at"] == at

    def test_what_was_booked_without_a_receiver_is_reported_once_there_is_one(
        self, sandbox: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        sandbox.connector().send(instruction(reference))
        assert sandbox.events(reference)[0]["delivered_at"] is None
        sandbox.stop()
        sandbox.options = ("--webhook-url", receiver.url, "--webhook-secret", SIGNING_SECRET)

        sandbox.start()

        [delivery] = receiver.wait_for(reference)
        assert delivery.event["type"] == "transfer.succeeded"
