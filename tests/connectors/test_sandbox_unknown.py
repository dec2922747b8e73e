"""What looks the same to us whether it was paid or not, against the provider's own books."""

from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from fulfilment.connectors.base import Done, NotFound, Unknown
from fulfilment.connectors.sandbox import SandboxConnector
from tests.connectors.sandbox import ACCOUNT, SECRET, Sandbox, expect, instruction, paid, until
from tests.connectors.servers import cut_short, drip, drip_head, raw_server

pytestmark = pytest.mark.processes


def test_an_answer_after_the_deadline_is_unknown_while_the_books_have_it(
    sandbox: Sandbox, reference: str
) -> None:
    sandbox.set_fault("hang", seconds=30, match={"account": ACCOUNT})

    outcome = sandbox.connector().send(instruction(reference, seconds=0.5))

    assert isinstance(outcome, Unknown), f"a time-out is no failure: it was paid: {outcome}"
    assert paid(sandbox) == 1
    expect(sandbox.connector().look_up(reference), Done, "the books have it")


def test_while_the_first_hangs_a_second_is_answered_from_the_books(
    sandbox: Sandbox, reference: str
) -> None:
    sandbox.set_fault("hang", seconds=30)
    connector = sandbox.connector()
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(connector.send, instruction(reference, seconds=3))
        until(lambda: sandbox.payments(reference), what="the first call to be booked")

        second = connector.send(instruction(reference))

        assert not first.done(), "the second waited for the first: the lock is held while hanging"
        assert isinstance(second, Done), f"a booked reference must be answered at once: {second}"
    assert paid(sandbox) == 1


def test_a_lost_answer_is_unknown_and_then_found(sandbox: Sandbox, reference: str) -> None:
    sandbox.set_fault("accept_then_reset", times=1)
    connector = sandbox.connector()

    outcome = connector.send(instruction(reference))

    assert isinstance(outcome, Unknown), f"a reset says nothing: it was paid: {outcome}"
    expect(connector.look_up(reference), Done, "the books have it")
    expect(connector.send(instruction(reference)), Done, "the same reference is safe to send")
    assert paid(sandbox) == 1


def test_a_lost_request_is_unknown_and_then_not_found(sandbox: Sandbox, reference: str) -> None:
    """To us it looks exactly like the lost answer."""
    sandbox.set_fault("lose_request", times=1)
    connector = sandbox.connector()

    outcome = connector.send(instruction(reference))

    assert isinstance(outcome, Unknown), f"a reset says nothing: {outcome}"
    expect(connector.look_up(reference), NotFound, "the request was lost")
    assert paid(sandbox) == 0
    expect(connector.send(instruction(reference)), Done, "the reference is still free")
    assert paid(sandbox) == 1


def test_a_slow_request_is_not_found_first_and_found_later(
    sandbox: Sandbox, reference: str
) -> None:
    """Why one 'not found' is no fact."""
    sandbox.set_fault("ok_after", seconds=3)
    connector = sandbox.connector()

    expect(connector.send(instruction(reference, seconds=0.5)), Unknown, "a time-out")
    expect(connector.look_up(reference), NotFound, "the slow request is not booked yet")
    until(lambda: paid(sandbox), what="the slow request to be booked")
    expect(connector.look_up(reference), Done, "the slow request is booked now")


@pytest.mark.parametrize("books", [True, False])
def test_a_server_error_is_unknown_whether_or_not_it_was_booked(
    sandbox: Sandbox, reference: str, books: bool
) -> None:
    sandbox.set_fault("status", code=500, books=books)

    outcome = sandbox.connector().send(instruction(reference))

    expect(outcome, Unknown, "a 500 may hide a payment")
    assert outcome.body, "the bytes must be kept as evidence"
    assert paid(sandbox) == int(books)


@pytest.mark.parametrize("server", [drip, drip_head])
def test_the_deadline_holds_in_total_against_a_server_that_drips(
    reference: str, server: object
) -> None:
    """A read time-out starts anew with each byte; this server sends one every 50 ms."""
    with ThreadPoolExecutor(1) as thread, raw_server(server) as url:  # type: ignore[arg-type]
        connector = SandboxConnector({"URL": url, "SECRET": SECRET})
        sending = thread.submit(connector.send, instruction(reference, seconds=0.5))
        ended, _ = wait([sending], timeout=5)

        assert ended, "10 deadlines later it still waits: each byte starts the time-out anew"
    expect(sending.result(), Unknown, "half an answer")


def test_an_answer_cut_short_is_unknown(reference: str) -> None:
    with raw_server(cut_short) as url:
        connector = SandboxConnector({"URL": url, "SECRET": SECRET})
        expect(connector.send(instruction(reference)), Unknown, "half an answer")
