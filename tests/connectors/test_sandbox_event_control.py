"""What tests and people can do with events, and how the reporting provider starts and ends."""

import base64
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from fulfilment.connectors.sandbox.provider.endpoint import endpoint
from tests.connectors.receiver import SIGNING_SECRET, Receiver
from tests.connectors.sandbox import Sandbox, command, instruction

pytestmark = pytest.mark.processes


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


class TestOneEvent:
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

    def test_that_nobody_knows_is_not_delivered(self, reporting: Sandbox) -> None:
        with pytest.raises(OSError, match="404"):
            reporting.deliver("evt_nothing")

    @pytest.mark.parametrize("times", [0, 101])
    def test_is_delivered_a_sensible_number_of_times(
        self, reporting: Sandbox, receiver: Receiver, reference: str, times: int
    ) -> None:
        made = reporting.make_event("transfer.failed", {"reference": reference})
        with pytest.raises(OSError, match="400"):
            reporting.deliver(made["id"], times=times)

    def test_has_nowhere_to_go_without_a_receiver(self, sandbox: Sandbox) -> None:
        with pytest.raises(OSError, match="409"):
            sandbox.make_event("transfer.failed", {})


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
        made = [self.ids(tmp_path / str(n), reference, seed) for n, seed in enumerate("112")]
        for same, repeated, other in zip(*made, strict=True):
            assert same == repeated, "two runs with one seed must print the same"
            assert same != other, "another seed must give another id"

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


def test_the_provider_shares_no_code_with_who_checks_it() -> None:
    """Its books could not bear witness if a bug of ours were theirs, too."""
    script = (
        "import sys, fulfilment.connectors.sandbox.provider.__main__\n"
        "ours = [m for m in sys.modules if m.startswith('fulfilment.') and '.provider' not in m]\n"
        "print(*ours, *{'django', 'httpx2', 'celery', 'standardwebhooks'} & set(sys.modules))"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=True
    )
    packages = {"fulfilment.connectors", "fulfilment.connectors.sandbox"}
    assert set(said.stdout.split()) == packages, "the provider is standard library only"
