"""What a call proves, on real sockets: only a connection that was never made is "not sent"."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import pytest

from fulfilment.connectors import http
from fulfilment.connectors.base import NotSent, Unknown

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Id: 7\r\n\r\n{}"


@contextmanager
def server(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """Accepts one connection, reads the request's head, and lets `talk` do the rest."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener.accept()[0] as connection:
            connection.recv(65536)
            with suppress(OSError):  # the client gave up: that is what some of these tests want
                talk(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        thread.join(timeout=5)
        listener.close()


def call(url: str, *, seconds: float = 2.0, **given: object) -> object:
    return http.call("POST", url, deadline=timedelta(seconds=seconds), **given)  # type: ignore[arg-type]


def test_an_answer_comes_back_whole() -> None:
    with server(lambda c: c.sendall(OK)) as url:
        reply = call(url, json_body={"amount": 1})
    assert isinstance(reply, http.Reply)
    assert (reply.status, reply.body, reply.headers["x-id"], reply.json()) == (200, b"{}", "7", {})


def test_nothing_listening_is_proof_that_nothing_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    assert isinstance(call(url), NotSent)


@pytest.mark.parametrize("url", ["http://no-such-host.invalid/", "ftp://127.0.0.1/", "nonsense"])
def test_an_address_that_leads_nowhere_is_proof_that_nothing_left(url: str) -> None:
    assert isinstance(call(url), NotSent)


def test_a_handshake_that_fails_is_proof_that_nothing_left() -> None:
    with server(lambda c: c.sendall(b"not TLS at all\r\n\r\n")) as url:
        assert isinstance(call(url.replace("http:", "https:")), NotSent)


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")


@pytest.mark.parametrize(
    "talk",
    [
        lambda c: None,
        reset,
        lambda c: c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"),
        lambda c: c.sendall(b"garbage\r\n\r\n"),
        lambda c: c.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (http.MAX_BODY + 1)),
    ],
    ids=["closed", "reset", "cut short", "not HTTP", "too large"],
)
def test_what_happens_after_the_first_byte_is_unknown(talk: Callable[..., None]) -> None:
    with server(talk) as url:
        assert isinstance(call(url), Unknown), "money may have moved behind this answer"


def drip(connection: socket.socket) -> None:
    """A byte now and then: a client whose time-out begins again with each would wait for ever."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(100):
        connection.sendall(b"x")
        time.sleep(0.05)


@pytest.mark.parametrize("talk", [drip, lambda c: time.sleep(1)], ids=["drips", "hangs"])
def test_the_deadline_is_for_the_whole_call(talk: Callable[..., None]) -> None:
    began = time.monotonic()
    with server(talk) as url:
        answer = call(url, seconds=0.4)
        took = time.monotonic() - began
    assert isinstance(answer, Unknown)
    assert took < 0.9, f"the call took {took:.2f} s of a deadline of 0.4 s"


def test_a_redirect_is_an_answer_and_never_followed() -> None:
    with server(lambda c: c.sendall(OK)) as elsewhere:
        found = f"HTTP/1.1 302 Found\r\nLocation: {elsewhere}\r\nContent-Length: 0\r\n\r\n"
        with server(lambda c: c.sendall(found.encode())) as url:
            reply = call(url)
        assert isinstance(reply, http.Reply)
        assert reply.status == 302
        call(elsewhere)  # lets its thread end


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with server(lambda c: c.sendall(OK)) as url:
        assert isinstance(call(url), http.Reply)


def test_a_body_that_is_not_json_has_no_json() -> None:
    assert http.Reply(200, {}, b"\xff{").json() is None
    assert http.Reply(200, {}, b"[" * 100_000).json() is None
