"""What the provider reports, and that it goes on until it is heard."""

import base64
import itertools
import signal
import subprocess
import threading
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from fulfilment.connectors.sandbox.provider.endpoint import endpoint, signature
from tests.connectors.receiver import SIGNING_SECRET, Receiver
from tests.connectors.sandbox import ACCOUNT, Sandbox, command, instruction, until

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

    def test_of_one_event_thirty_times_at_once_is_thirty_deliveries(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        reporting.connector().send(instruction(reference))
        [first] = receiver.wait_for(reference)

        statuses = reporting.deliver(first.id, times=30)

        assert statuses == [200] * 30
        again = receiver.about(reference)[1:]
        assert len(again) == 30
        assert {(d.id, d.body) for d in again} == {(first.id, first.body)}

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


class TestAnEventOfATest:
    def test_is_signed_and_delivered_like_any_other(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        made = reporting.make_event("transfer.exploded", {"reference": reference})

        assert made["status"] == 200, "it must have been delivered once when the call returns"
        [delivery] = receiver.about(reference)
        assert delivery.event == {name: made[name] for name in made if name != "status"}

    def test_can_carry_another_body_under_an_id_that_was_used(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        reporting.connector().send(instruction(reference))
        [first] = receiver.wait_for(reference)
        data = first.event["data"] | {"amount": 1}

        reporting.make_event("transfer.succeeded", data, id=first.id)

        second = receiver.about(reference)[1]
        assert second.id == first.id
        assert second.event["data"]["amount"] == 1

    def test_is_retried_too_and_outlives_a_restart(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        receiver.answer_in_turn(500)
        assert reporting.make_event("transfer.failed", {"reference": reference})["status"] == 500
        reporting.stop(kill=True)
        before = len(receiver.about(reference))
        receiver.answer_in_turn(200)
        reporting.start()

        later = receiver.wait_for(reference, count=before + 1)
        assert len({d.body for d in later}) == 1

    @pytest.mark.parametrize(
        "members",
        [{"data": {}}, {"type": "x", "data": 7}, {"type": "x", "data": {}, "id": "evt\r\nx: y"}],
        ids=["no type", "no data", "an id that would forge a header"],
    )
    def test_is_refused_where_it_makes_no_sense(
        self, reporting: Sandbox, members: dict[str, Any]
    ) -> None:
        with pytest.raises(OSError, match="400"):
            reporting.request("POST", "/events", members)


class TestTheProcess:
    def test_ends_at_once_while_deliveries_hang(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        over = threading.Event()
        receiver.answer = lambda _: 200 if over.wait(20) else 500
        try:
            reporting.connector().send(instruction(reference, narration="sandbox:duplicate"))
            receiver.wait_for(reference, count=4)
            reporting.process.send_signal(signal.SIGTERM)

            assert reporting.process.wait(timeout=3) == 0, "SIGTERM must end it at once, with 0"
        finally:
            over.set()

    @pytest.mark.parametrize(
        ("url", "secret", "reason"),
        [
            ("ftp://x", SIGNING_SECRET, "must be an http(s) address"),
            ("http://127.0.0.1:1", "", "needs a --webhook-secret"),
            ("http://127.0.0.1:1", "whsec_c2hvcnQ=", "of 24 to 64 bytes"),
            ("http://127.0.0.1:1", SIGNING_SECRET[6:], "whsec_ and the base64"),
        ],
    )
    def test_says_in_a_sentence_why_it_cannot_report(
        self, tmp_path: Path, url: str, secret: str, reason: str
    ) -> None:
        options = ("--port", "0", "--books", str(tmp_path / "b"))
        ended = subprocess.run(
            command(*options, "--webhook-url", url, "--webhook-secret", secret),
            capture_output=True, text=True, timeout=20, check=False,
        )  # fmt: skip
        assert ended.returncode == 1
        assert reason in ended.stderr
        assert ended.stderr.count("\n") == 1, f"one sentence, not a traceback: {ended.stderr}"
        assert not secret or secret not in ended.stderr, "the secret is on the screen"

    def test_gives_the_same_ids_for_the_same_seed_and_others_for_another(
        self, tmp_path: Path, reference: str
    ) -> None:
        ids = Counter(
            self.ids(tmp_path / str(n), reference, seed) for n, seed in enumerate(("1", "1", "2"))
        )
        assert sorted(ids.values()) == [1, 2], (
            f"ids must follow from the seed and nothing else: {ids}"
        )

    def ids(self, books: Path, reference: str, seed: str) -> tuple[str, str]:
        provider = Sandbox(books, options=("--seed", seed))
        try:
            provider.connector().send(instruction(reference))
            return provider.payments(reference)[0]["id"], provider.events(reference)[0]["id"]
        finally:
            provider.stop()


def test_a_receiver_never_shows_its_key() -> None:
    key = base64.b64decode(SIGNING_SECRET[6:])
    shown = repr(endpoint("http://127.0.0.1:1", SIGNING_SECRET))
    assert repr(key) not in shown, "the signing key is in a repr"
