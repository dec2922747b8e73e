"""The audit keeps to what it said before: so many requests, so long, and only where it may."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from idempotency.audit import steps
from idempotency.audit.courier import Courier
from idempotency.audit.messages import Request
from idempotency.audit.target import find

ORDER = '{"amount": 1, "to": "x"}'


class Desk(BaseHTTPRequestHandler):
    """Carries out whatever it gets, each time anew; `answer` says how."""

    server: Any
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append(self.headers.get("Idempotency-Key"))
        self.server.answer(self)

    def do_GET(self) -> None:
        self.do_POST()

    def say(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None: ...


@contextmanager
def desk(answer: Callable[[Desk], None]) -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Desk)
    server.daemon_threads, server.seen, server.answer = True, [], answer
    server.handle_error = lambda *_: None  # the client goes away in the middle: that is its right
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def audit(server: Any, **options: Any) -> dict[str, dict[str, Any]]:
    host, port = server.server_address
    return found(f"http://{host}:{port}/orders", **options)


def found(url: str, **options: Any) -> dict[str, dict[str, Any]]:
    written = StringIO()
    try:
        call_command(
            "idempotency_audit", url, body=ORDER, format="json", stdout=written, stderr=StringIO(),
            **options,
        )  # fmt: skip
    except CommandError:
        if not written.getvalue():
            raise
    return {check["check"]: check for check in json.loads(written.getvalue())["checks"]}


def test_an_endpoint_that_is_always_busy_gets_no_more_requests_than_were_announced() -> None:
    numbers = iter(range(10_000))

    def busy_but_first(call: Desk) -> None:
        if next(numbers) == 0:
            return call.say(202, b"{}")
        return call.say(409, b"{}", Retry_After="0")

    with desk(busy_but_first) as server:
        checks = audit(server, other_header=["X-User: bola"], bad_body="{}")
    assert len(server.seen) <= steps.most_requests(), "more requests than it had said"
    assert checks["replay"]["verdict"] == checks["after"]["verdict"] == "could not tell"


def test_a_careless_endpoint_has_no_more_effects_than_were_announced() -> None:
    with desk(
        lambda call: call.say(201, json.dumps({"id": time.monotonic_ns()}).encode())
    ) as server:
        checks = audit(server, other_header=["X-User: bola"], bad_body="{}")
    assert len(server.seen) <= steps.most_requests()
    assert checks["long"]["verdict"] == "passed", "both long keys were asked about"
    assert checks["replay"]["verdict"] == "failed"


def test_a_courier_sends_no_more_than_it_was_given() -> None:
    with desk(lambda call: call.say(201, b"{}")) as server:
        host, port = server.server_address
        courier = Courier(find(f"http://{host}:{port}/"), requests=3, timeout=5, time_limit=5)
        request = Request("POST", (("Idempotency-Key", b"k"),), b"{}")
        assert courier.send("one", request).answer is not None
        refused = courier.send_at_once("three", [request] * 3)
        assert {exchange.error for exchange in refused} == {"the number of requests was used up"}
    assert len(server.seen) == 1


def test_an_endpoint_that_refuses_the_first_request_gets_no_second_one() -> None:
    with desk(lambda call: call.say(401, b"who are you?")) as server:
        checks = audit(server)
    assert len(server.seen) == 1, "it went on although nothing could be learnt"
    assert "401" in checks["first"]["seen"]
    assert {check["verdict"] for check in checks.values()} == {"could not tell"}


def test_an_audit_that_shows_nothing_does_not_end_as_if_all_was_well() -> None:
    with desk(lambda call: call.say(404, b"")) as server:
        host, port = server.server_address
        with pytest.raises(CommandError, match="Nothing could be audited") as ended:
            call_command(
                "idempotency_audit",
                f"http://{host}:{port}/",
                body=ORDER,
                stdout=StringIO(),
                stderr=StringIO(),
            )
    assert ended.value.returncode == 2


def test_an_answer_that_never_ends_does_not_hold_the_audit() -> None:
    def trickle(call: Desk) -> None:
        call.send_response(201)
        call.send_header("Transfer-Encoding", "chunked")
        call.end_headers()
        while True:
            call.wfile.write(b"1\r\nx\r\n")
            time.sleep(0.05)

    began = time.monotonic()
    with desk(trickle) as server:
        checks = audit(server, timeout=0.5)
    assert time.monotonic() - began < 30, "a byte now and then kept the audit waiting"
    assert "no answer in time" in checks["first"]["seen"]


def test_a_monstrous_answer_is_not_read_to_its_end() -> None:
    def pour(call: Desk) -> None:
        call.send_response(201)
        call.end_headers()
        while True:
            call.wfile.write(b"x" * 65536)

    with desk(pour) as server:
        checks = audit(server, timeout=10)
    assert checks["first"]["verdict"] == "passed"
    assert len(checks["replay"]["evidence"][0]) < 2000, "the body is printed whole"


def test_at_the_time_limit_nothing_more_is_sent() -> None:
    def slow(call: Desk) -> None:
        time.sleep(0.2)
        call.say(201, b"{}")

    with desk(slow) as server:
        checks = audit(server, time_limit=0.9)
    assert len(server.seen) < 8, "it went on past its time"
    assert "the time limit was reached" in checks["stranger"]["seen"] + checks["at-once"]["seen"]


@pytest.mark.parametrize(
    "cut", [b"", b"HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\n{", b"SSH-2.0\r\n"]
)
def test_what_is_no_answer_is_said_to_be_none(cut: bytes) -> None:
    def break_off(call: Desk) -> None:
        call.wfile.write(cut)
        call.close_connection = True

    with desk(break_off) as server:
        checks = audit(server)
    assert checks["first"]["verdict"] == "could not tell"
    assert "no answer" in checks["first"]["seen"]


def test_nothing_is_sent_to_another_machine_unless_a_person_agrees(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    elsewhere = (
        "http://192.0.2.1/orders"  # an address for documentation (RFC 5737): nobody is there
    )
    with pytest.raises(CommandError, match="nobody is there to ask") as refused:
        found(elsewhere)
    assert refused.value.returncode == 2
    for typed in ("no\n", "y\n", ""):
        monkeypatch.setattr("sys.stdin", Terminal(typed))
        with pytest.raises(CommandError, match="Nothing was sent"):
            found(elsewhere)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"header": ["Authorization"]}, "is given as 'Name: value'"),
        ({"header": ["@/nowhere/at-all"]}, "/nowhere/at-all cannot be read"),
        ({"header": ["X-A: b\r\nX-C: d"]}, "in one line"),
    ],
)
def test_a_header_that_is_none_is_refused_in_a_sentence(
    options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(CommandError, match=sentence):
        found("http://127.0.0.1:9/orders", **options)


def test_order_and_credentials_may_come_from_files(tmp_path: Path) -> None:
    (tmp_path / "order").write_bytes(b"sku=7")
    (tmp_path / "headers").write_text("Authorization: Bearer t\n\nContent-Type: text/plain\n")
    got: list[tuple[str, ...]] = []

    def look(call: Desk) -> None:
        names = ("Authorization", "Content-Type", "Content-Length")
        got.append(tuple(call.headers[name] for name in names))
        call.say(401, b"")

    with desk(look) as server:
        host, port = server.server_address
        files = {"body_file": tmp_path / "order", "header": [f"@{tmp_path / 'headers'}"]}
        with pytest.raises(CommandError, match="Nothing could be audited"):
            call_command(
                "idempotency_audit",
                f"http://{host}:{port}/",
                stdout=StringIO(),
                stderr=StringIO(),
                **files,
            )
    assert got == [("Bearer t", "text/plain", "5")]
