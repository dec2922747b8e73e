"""The provider by itself: its books, its faults, its page and its process."""

import hashlib
import http.client
import json
import signal
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fulfilment.connectors.base import Done, Unknown
from tests.connectors.sandbox import SECRET, Sandbox, command, expect, instruction, until

pytestmark = pytest.mark.processes


def order(reference: str, **changes: Any) -> dict[str, Any]:
    return {
        "reference": reference,
        "amount": 100_00,
        "currency": "NGN",
        "recipient": {"bank": "058", "account": "0123456789"},
        "narration": "INV-1001",
        **changes,
    }


def post(
    sandbox: Sandbox, members: Any, *, secret: str = SECRET
) -> tuple[int, Any, dict[str, str]]:
    """One raw call of the API: status, body, headers."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", int(sandbox.url.rsplit(":")[-1]), timeout=20
    )
    try:
        headers = {"Authorization": f"Bearer {secret}"}
        connection.request("POST", "/v1/payments", json.dumps(members), headers)
        answer = connection.getresponse()
        return answer.status, json.load(answer), dict(answer.getheaders())
    finally:
        connection.close()


def answer_to(sandbox: Sandbox, reference: str) -> str:
    """The status of one payment's answer, or what became of the connection."""
    try:
        return str(post(sandbox, order(reference))[0])
    except OSError as error:
        return type(error).__name__


class TestTheApi:
    def test_answers_201_first_and_200_with_the_marker_after(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        status, first, headers = post(sandbox, order(reference))
        again_status, again, again_headers = post(sandbox, order(reference))

        assert (status, again_status) == (201, 200)
        assert "Idempotent-Replayed" not in headers, "only a replay carries the marker"
        assert again_headers["Idempotent-Replayed"] == "true"
        assert again == first
        assert first["recipient"] == {"bank": "058", "account": "******6789"}
        assert first["failure"] is None

    @pytest.mark.parametrize(
        "change",
        [
            {"amount": 0},
            {"amount": True},
            {"amount": "100"},
            {"amount": 1.0},
            {"currency": "ngn"},
            {"reference": "short"},
            {"recipient": None},
            {"recipient": {"bank": "058", "account": "01 23"}},
            {"narration": 7},
        ],
        ids=json.dumps,
    )
    def test_books_nothing_on_bad_input(
        self, sandbox: Sandbox, reference: str, change: dict[str, Any]
    ) -> None:
        status, body, _ = post(sandbox, order(reference) | change)

        assert status == 400, f"bad input was taken: {body}"
        assert body["error"]["type"] == "invalid_request"
        assert sandbox.books()["payments"] == []

    def test_refuses_another_secret(self, sandbox: Sandbox, reference: str) -> None:
        status, body, _ = post(sandbox, order(reference), secret="guess")

        assert status == 401, f"anybody may pay: {body}"
        assert body["error"]["type"] == "authentication_error"
        assert sandbox.books()["payments"] == []

    def test_books_each_of_two_hundred_payments_that_arrive_at_once(self, sandbox: Sandbox) -> None:
        """More than the default backlog of 5, which would let callers time out unheard."""
        references = [f"{n:032x}" for n in range(200)]
        with ThreadPoolExecutor(200) as threads:
            answers = list(threads.map(lambda name: answer_to(sandbox, name), references))

        assert set(answers) == {"201"}, (
            f"callers were turned away, so the backlog is short: {Counter(answers)}"
        )
        assert sandbox.books()["count"] == 200
        assert sandbox.books()["totals"] == {"NGN": 200 * 100_00}

    def test_resets_the_connection_in_earnest(self, sandbox: Sandbox, reference: str) -> None:
        """An RST, as a dying host sends it; a polite end of stream is another error to a client."""
        sandbox.set_fault("accept_then_reset")

        with pytest.raises(ConnectionResetError) as error:
            post(sandbox, order(reference))
        # its subclass RemoteDisconnected is what a client makes of an end of stream
        assert error.type is ConnectionResetError, "the provider hung up politely instead"


class TestBooks:
    @pytest.mark.parametrize("kill", [False, True], ids=["SIGTERM", "SIGKILL"])
    def test_survive_the_process(self, sandbox: Sandbox, reference: str, kill: bool) -> None:
        connector = sandbox.connector()
        first = connector.send(instruction(reference))

        sandbox.stop(kill=kill)
        sandbox.start()

        assert connector.look_up(reference) == first, "a restart forgot the payment"
        assert connector.send(instruction(reference)) == first
        conflict = connector.send(instruction(reference, account="9993456789"))
        expect(conflict, Unknown, "content must be compared after a restart, too")
        assert sandbox.books()["count"] == 1, "a restart made the provider pay again"

    def test_lose_only_a_last_line_that_was_torn(self, sandbox: Sandbox, reference: str) -> None:
        connector, torn = sandbox.connector(), reference[::-1]
        connector.send(instruction(reference))
        connector.send(instruction(torn))
        sandbox.stop(kill=True)
        content = sandbox.books_file.read_bytes()
        sandbox.books_file.write_bytes(content[:-40])

        sandbox.start()

        assert [p["reference"] for p in sandbox.books()["payments"]] == [reference]
        expect(connector.send(instruction(torn)), Done, "a torn line was never answered")
        sandbox.stop()
        sandbox.start()
        assert sandbox.books()["count"] == 2, "the booking after a torn line was glued to it"

    def test_of_an_earlier_version_are_read(self, tmp_path: Path, reference: str) -> None:
        """From before there were kinds and events: a transfer of which nothing is reported."""
        line = {
            "id": "pay_1", "reference": reference, "status": "succeeded", "amount": 100_00,
            "currency": "NGN", "bank": "058", "account": "******6789",
            "account_digest": hashlib.sha256(f"{reference}\n0123456789".encode()).hexdigest(),
            "narration": "INV-1001", "created_at": "2026-01-01T00:00:00+00:00",
        }  # fmt: skip
        (tmp_path / "old.jsonl").write_text(json.dumps(line) + "\n")
        provider = Sandbox(tmp_path / "old.jsonl")
        try:
            expect(provider.connector().send(instruction(reference)), Done, "it is booked")
            assert provider.books()["count"] == 1, "it was paid again"
            assert provider.events(reference) == []
        finally:
            provider.stop()

    def test_are_shown_to_people_with_totals_and_nothing_that_runs(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        sandbox.connector().send(instruction(reference, narration="<script>alert(1)</script>"))
        connection = http.client.HTTPConnection("127.0.0.1", int(sandbox.url.rsplit(":")[-1]))
        connection.request("GET", "/books", headers={"Accept": "text/html"})
        answer = connection.getresponse()
        page = answer.read().decode()
        connection.close()

        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "1 paid: NGN 10,000" in page
        assert reference in page
        assert "&lt;script&gt;" in page
        assert "<script" not in page, "a narration runs as a script in the page"

    def test_show_each_call_with_its_fault_and_answer(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        sandbox.set_fault("accept_then_reset")
        connector = sandbox.connector()
        connector.send(instruction(reference))
        connector.look_up(reference)

        seen = [(c["method"], c["fault"], c["answer"]) for c in sandbox.calls(reference)]
        assert seen == [("POST", "accept_then_reset", "connection reset"), ("GET", "", "200")]


class TestTheProcess:
    def test_ends_cleanly_while_a_call_hangs(self, sandbox: Sandbox, reference: str) -> None:
        sandbox.set_fault("hang", seconds=60)
        with ThreadPoolExecutor(1) as thread:
            sending = thread.submit(sandbox.connector().send, instruction(reference, seconds=30))
            until(lambda: sandbox.payments(reference), what="the hanging call to be booked")

            assert sandbox.stop() == 0, "SIGTERM must end it at once, with 0"
            expect(sending.result(timeout=10), Unknown, "the provider died in mid-call")

    def test_ends_cleanly_on_ctrl_c(self, sandbox: Sandbox) -> None:
        sandbox.process.send_signal(signal.SIGINT)
        assert sandbox.process.wait(timeout=10) == 0

    def test_says_in_a_sentence_why_it_cannot_start(self, sandbox: Sandbox, tmp_path: Path) -> None:
        port = sandbox.url.rsplit(":")[-1]
        (tmp_path / "bad.jsonl").write_text("{}\n")
        reasons = {
            f"port {port} cannot be used": ("--port", port, "--books", str(tmp_path / "b")),
            "another provider keeps": ("--port", "0", "--books", str(sandbox.books_file)),
            "cannot be written": ("--port", "0", "--books", str(tmp_path)),
            "line 1 of the books": ("--port", "0", "--books", str(tmp_path / "bad.jsonl")),
        }
        for reason, options in reasons.items():
            ended = subprocess.run(
                command(*options), capture_output=True, text=True, timeout=20, check=False
            )
            assert ended.returncode == 1, f"it must not start: {reason}"
            assert reason in ended.stderr
            assert ended.stderr.count("\n") == 1, f"one sentence, not a traceback: {ended.stderr}"
