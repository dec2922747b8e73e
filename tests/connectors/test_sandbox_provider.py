"""The provider by itself: its books, its faults, its page and its process."""

import http.client
import json
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fulfilment.connectors.base import Done, NoInformation, Refused, Unknown
from tests.connectors.sandbox import SECRET, Sandbox, command, instruction, until

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

        assert (status, body["error"]["type"]) == (400, "invalid_request"), body
        assert sandbox.books()["payments"] == []

    def test_refuses_another_secret(self, sandbox: Sandbox, reference: str) -> None:
        status, body, _ = post(sandbox, order(reference), secret="guess")

        assert (status, body["error"]["type"]) == (401, "authentication_error")
        assert sandbox.books()["payments"] == []

    def test_books_each_of_two_hundred_payments_that_arrive_at_once(self, sandbox: Sandbox) -> None:
        """More than the default backlog of 5, which would let callers time out unheard."""
        references = [f"{n:032x}" for n in range(200)]
        with ThreadPoolExecutor(200) as threads:
            statuses = list(threads.map(lambda name: post(sandbox, order(name))[0], references))

        assert set(statuses) == {201}
        assert sandbox.books()["count"] == 200
        assert sandbox.books()["totals"] == {"NGN": 200 * 100_00}

    def test_resets_the_connection_in_earnest(self, sandbox: Sandbox, reference: str) -> None:
        """An RST, as a dying host sends it; a polite end of stream is another error to a client."""
        sandbox.set_fault("accept_then_reset")

        with pytest.raises(ConnectionResetError):
            post(sandbox, order(reference))


class TestFaults:
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
    def test_can_be_asked_for_in_the_narration_of_one_payment(
        self, sandbox: Sandbox, reference: str, wish: str, outcome: type, booked: int
    ) -> None:
        connector = sandbox.connector()
        wanted = instruction(reference, narration=f"rent {wish} please", seconds=1)

        assert isinstance(connector.send(wanted), outcome)
        assert len(sandbox.payments(reference)) == booked
        assert isinstance(connector.send(instruction(reference[::-1])), Done), "others are not met"

    def test_a_refusal_lasts_as_many_calls_as_asked(self, sandbox: Sandbox, reference: str) -> None:
        wanted = instruction(reference, narration="sandbox:refuse(2)")

        outcomes = [type(sandbox.connector().send(wanted)) for _ in range(3)]

        assert outcomes == [Refused, Refused, Done]

    def test_a_payment_can_hide_from_look_ups_until_the_fault_is_deleted(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        """Two wishes in one narration: the answer is lost and nobody can ask."""
        connector = sandbox.connector()
        wishes = "sandbox:accept_then_reset sandbox:lookup_outage"

        assert isinstance(connector.send(instruction(reference, narration=wishes)), Unknown)
        assert isinstance(connector.look_up(reference), NoInformation)
        assert sandbox.clear_faults("narration=sandbox:lookup_outage") == 1
        assert isinstance(connector.look_up(reference), Done)

    def test_meet_only_what_they_match_and_only_so_often(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        sandbox.set_fault("refuse", times=1, match={"account": "0123456780", "bank": "058"})
        connector = sandbox.connector()
        mine, other = reference, reference[::-1]

        assert isinstance(connector.send(instruction(other)), Done), "another account was met"
        assert isinstance(connector.send(instruction(mine, account="0123456780")), Refused)
        assert sandbox.faults() == [], "a fault that is used up must not be listed"
        assert isinstance(connector.send(instruction(mine, account="0123456780")), Done)

    def test_the_first_that_matches_wins(self, sandbox: Sandbox, reference: str) -> None:
        sandbox.set_fault("ok", match={"narration": "INV-1001"})
        sandbox.set_fault("refuse")
        connector = sandbox.connector()

        assert isinstance(connector.send(instruction(reference)), Done)
        assert isinstance(connector.send(instruction(reference[::-1], narration="rent")), Refused)

    @pytest.mark.parametrize(
        "rule",
        [{"fault": "explode"}, {"fault": "hang", "seconds": -1}, {"fault": "hang", "times": 0},
         {"fault": "ok", "match": {"colour": "red"}}, {"fault": "refuse", "type": "bored"}],
        ids=json.dumps,
    )  # fmt: skip
    def test_that_make_no_sense_are_refused(self, sandbox: Sandbox, rule: dict[str, Any]) -> None:
        with pytest.raises(OSError, match="400"):
            sandbox.request("POST", "/faults", rule)
        assert sandbox.faults() == []


class TestBooks:
    @pytest.mark.parametrize("kill", [False, True], ids=["SIGTERM", "SIGKILL"])
    def test_survive_the_process(self, sandbox: Sandbox, reference: str, kill: bool) -> None:
        connector = sandbox.connector()
        first = connector.send(instruction(reference))

        sandbox.stop(kill=kill)
        sandbox.start()

        assert connector.look_up(reference) == first
        assert connector.send(instruction(reference)) == first
        conflict = connector.send(instruction(reference, account="9993456789"))
        assert isinstance(conflict, Unknown), "content is no longer compared after a restart"
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
        assert isinstance(connector.send(instruction(torn)), Done)
        sandbox.stop()
        sandbox.start()
        assert sandbox.books()["count"] == 2, "the booking after a torn line was glued to it"

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
            assert isinstance(sending.result(timeout=10), Unknown)

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
