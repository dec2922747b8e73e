"""Each way in which a provider can fail us, through the connector, against a real process.

The provider's own books say what was really paid; the connector says what we may believe.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fulfilment.connectors.base import (
    Declined,
    Dedupe,
    Done,
    NoInformation,
    NotFound,
    NotSent,
    Outcome,
    Refused,
    Unknown,
)
from fulfilment.connectors.sandbox import SandboxConnector
from tests.connectors.sandbox import ACCOUNT, SECRET, Sandbox, instruction, until
from tests.connectors.servers import cut_short, drip, drip_head, raw_server, unused_url

pytestmark = pytest.mark.processes


def paid(sandbox: Sandbox) -> int:
    return int(sandbox.books()["count"])


class TestAPayment:
    def test_is_done_and_booked_once_with_what_we_asked(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        outcome = sandbox.connector().send(instruction(reference))

        assert isinstance(outcome, Done), f"a booked payment must be Done: {outcome}"
        assert (outcome.amount, outcome.currency) == (100_00, "NGN")
        assert outcome.recipient == "058 ******6789", "the recipient must come back, masked"
        assert outcome.status == "succeeded"
        assert outcome.provider_id.startswith("pay_")
        [line] = sandbox.payments(reference)
        assert (line["amount"], line["currency"], line["narration"]) == (100_00, "NGN", "INV-1001")
        assert sandbox.books()["totals"] == {"NGN": 100_00}

    def test_sent_again_is_done_again_and_not_paid_again(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        first = sandbox.connector().send(instruction(reference))
        again = sandbox.connector().send(instruction(reference))

        assert again == first, "a replay must name the same payment, byte for byte"
        assert paid(sandbox) == 1, "sent twice, paid twice: the reference no longer dedupes"

    @pytest.mark.parametrize(
        "change",
        [{"amount": 100_01}, {"narration": "other"}, {"bank": "044"}, {"account": "9993456789"}],
        ids=lambda change: next(iter(change)),
    )
    def test_with_other_content_under_its_reference_is_unknown_until_looked_up(
        self, sandbox: Sandbox, reference: str, change: dict[str, object]
    ) -> None:
        """The other account has the same last four digits: masked numbers must not be compared."""
        connector = sandbox.connector()
        connector.send(instruction(reference))

        outcome = connector.send(instruction(reference, **change))

        assert isinstance(outcome, Unknown), f"'exists' is neither done nor failed: {outcome}"
        found = connector.look_up(reference)
        assert isinstance(found, Done)
        assert found.amount == 100_00, (
            "the look-up must show what was booked, not what was asked last"
        )
        assert paid(sandbox) == 1

    def test_asked_for_by_thirty_at_once_is_booked_once(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        connector, start = sandbox.connector(), threading.Barrier(30)

        def send(_: int) -> Outcome:
            start.wait(timeout=20)
            return connector.send(instruction(reference, seconds=30))

        with ThreadPoolExecutor(30) as threads:
            outcomes = list(threads.map(send, range(30)))

        assert {type(outcome) for outcome in outcomes} == {Done}, (
            "each caller must learn that it is done"
        )
        assert len({outcome.provider_id for outcome in outcomes if isinstance(outcome, Done)}) == 1
        lines = sandbox.books_file.read_text().splitlines()
        assert len(lines) == 1, f"{len(lines)} bookings: find and book are not under one lock"
        assert sandbox.payments(reference)[0]["calls"] == 30


class TestWhatNeverLeftUs:
    def test_a_refused_connection_is_proof(self, reference: str) -> None:
        connector = SandboxConnector({"URL": unused_url(), "SECRET": SECRET})

        assert isinstance(connector.send(instruction(reference)), NotSent)
        assert isinstance(connector.look_up(reference), NoInformation), (
            "a provider that is down did not say 'not found'"
        )

    def test_an_instruction_without_a_recipient_is_not_sent(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        whole = instruction(reference)
        partial = type(whole)(
            reference=reference, amount=1, currency="NGN", instruction={}, deadline=whole.deadline
        )

        assert isinstance(sandbox.connector().send(partial), NotSent)
        assert sandbox.calls(reference) == []


class TestWhatNobodyCanKnow:
    def test_an_answer_after_the_deadline_is_unknown_while_the_books_have_it(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        sandbox.set_fault("hang", seconds=30, match={"account": ACCOUNT})

        outcome = sandbox.connector().send(instruction(reference, seconds=0.5))

        assert isinstance(outcome, Unknown), f"a time-out is no failure: it was paid: {outcome}"
        assert paid(sandbox) == 1
        assert isinstance(sandbox.connector().look_up(reference), Done)

    def test_while_the_first_hangs_a_second_is_answered_from_the_books(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        sandbox.set_fault("hang", seconds=30)
        connector = sandbox.connector()
        with ThreadPoolExecutor(1) as thread:
            first = thread.submit(connector.send, instruction(reference, seconds=3))
            until(lambda: sandbox.payments(reference), what="the first call to be booked")

            second = connector.send(instruction(reference))

            assert not first.done(), (
                "the second waited for the first: the lock is held while hanging"
            )
            assert isinstance(second, Done), (
                f"a booked reference must be answered at once: {second}"
            )
        assert paid(sandbox) == 1

    def test_a_lost_answer_is_unknown_and_then_found(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        sandbox.set_fault("accept_then_reset", times=1)
        connector = sandbox.connector()

        outcome = connector.send(instruction(reference))

        assert isinstance(outcome, Unknown), f"a reset says nothing: it was paid: {outcome}"
        assert isinstance(connector.look_up(reference), Done)
        assert isinstance(connector.send(instruction(reference)), Done), (
            "sent again, same reference"
        )
        assert paid(sandbox) == 1

    def test_a_lost_request_is_unknown_and_then_not_found(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        """To us it looks exactly like the lost answer."""
        sandbox.set_fault("lose_request", times=1)
        connector = sandbox.connector()

        outcome = connector.send(instruction(reference))

        assert isinstance(outcome, Unknown), f"a reset says nothing: {outcome}"
        assert isinstance(connector.look_up(reference), NotFound)
        assert paid(sandbox) == 0
        assert isinstance(connector.send(instruction(reference)), Done)
        assert paid(sandbox) == 1

    def test_a_slow_request_is_not_found_first_and_found_later(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        """Why one 'not found' is no fact."""
        sandbox.set_fault("ok_after", seconds=3)
        connector = sandbox.connector()

        assert isinstance(connector.send(instruction(reference, seconds=0.5)), Unknown)
        assert isinstance(connector.look_up(reference), NotFound)
        until(lambda: paid(sandbox), what="the slow request to be booked")
        assert isinstance(connector.look_up(reference), Done)

    @pytest.mark.parametrize("books", [True, False])
    def test_a_server_error_is_unknown_whether_or_not_it_was_booked(
        self, sandbox: Sandbox, reference: str, books: bool
    ) -> None:
        sandbox.set_fault("status", code=500, books=books)

        outcome = sandbox.connector().send(instruction(reference))

        assert isinstance(outcome, Unknown)
        assert outcome.body, "the bytes must be kept as evidence"
        assert paid(sandbox) == int(books)

    @pytest.mark.parametrize("server", [drip, drip_head])
    def test_the_deadline_holds_in_total_against_a_server_that_drips(
        self, reference: str, server: object
    ) -> None:
        """A read time-out starts anew with each byte; this server sends one every 50 ms."""
        with raw_server(server) as url, ThreadPoolExecutor(1) as thread:  # type: ignore[arg-type]
            connector = SandboxConnector({"URL": url, "SECRET": SECRET})
            sending = thread.submit(connector.send, instruction(reference, seconds=0.5))
            outcome = sending.result(timeout=5)  # the drip lasts a minute

        assert isinstance(outcome, Unknown)

    def test_an_answer_cut_short_is_unknown(self, reference: str) -> None:
        with raw_server(cut_short) as url:
            connector = SandboxConnector({"URL": url, "SECRET": SECRET})
            assert isinstance(connector.send(instruction(reference)), Unknown)


class TestWhatTheProviderSaysIsNot:
    def test_a_decline_is_final_and_no_money_left(self, sandbox: Sandbox, reference: str) -> None:
        sandbox.set_fault("decline", times=1)
        connector = sandbox.connector()

        assert isinstance(connector.send(instruction(reference)), Declined)
        assert isinstance(connector.send(instruction(reference)), Declined), (
            "a declined reference must stay declined when it is sent again"
        )
        assert isinstance(connector.look_up(reference), Declined)
        assert paid(sandbox) == 0
        assert sandbox.payments(reference)[0]["status"] == "failed"

    @pytest.mark.parametrize("kind", ["rate_limited", "insufficient_float"])
    def test_a_documented_refusal_began_nothing_and_the_reference_is_still_good(
        self, sandbox: Sandbox, reference: str, kind: str
    ) -> None:
        sandbox.set_fault("refuse", type=kind, times=1)
        connector = sandbox.connector()

        outcome = connector.send(instruction(reference))

        assert isinstance(outcome, Refused), f"documented as nothing begun: {outcome}"
        assert kind in outcome.reason
        assert paid(sandbox) == 0
        assert isinstance(connector.send(instruction(reference)), Done)

    def test_a_wrong_secret_is_refused_and_tells_a_look_up_nothing(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        connector = sandbox.connector(SECRET="of somebody else")

        assert isinstance(connector.send(instruction(reference)), Refused)
        assert isinstance(connector.look_up(reference), NoInformation), (
            "a 401 must never count as 'not found'"
        )
        assert paid(sandbox) == 0

    def test_a_request_the_provider_cannot_read_began_nothing(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        outcome = sandbox.connector().send(instruction(reference, currency="naira"))

        assert isinstance(outcome, Refused), (
            f"our bug must not fail a customer's payment: {outcome}"
        )
        assert paid(sandbox) == 0


class TestALookUp:
    def test_tells_nothing_during_an_outage(self, sandbox: Sandbox, reference: str) -> None:
        connector = sandbox.connector()
        connector.send(instruction(reference))
        sandbox.set_fault("lookup_outage")

        assert isinstance(connector.look_up(reference), NoInformation)
        sandbox.clear_faults("fault=lookup_outage")
        assert isinstance(connector.look_up(reference), Done)

    def test_at_a_wrong_address_tells_nothing(self, sandbox: Sandbox, reference: str) -> None:
        """A 404 of a mistyped URL read as 'not found' would pay again."""
        connector = sandbox.connector(URL=f"{sandbox.url}/api")

        assert isinstance(connector.look_up(reference), NoInformation)

    def test_of_an_unknown_reference_is_not_found(self, sandbox: Sandbox, reference: str) -> None:
        assert isinstance(sandbox.connector().look_up(reference), NotFound)


class TestTheConnector:
    def test_declares_what_the_provider_promises(self) -> None:
        promises = SandboxConnector({"URL": "http://127.0.0.1:1", "SECRET": SECRET}).capabilities

        assert promises.dedupe is Dedupe.REFERENCE_FOREVER
        assert promises.lookup_by_reference
        assert not promises.errors_cached
        assert promises.visible_after.total_seconds() > 0, "three look-ups in one instant are one"

    def test_never_shows_its_secret_or_an_account_number(
        self, sandbox: Sandbox, reference: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        connector = sandbox.connector()
        with caplog.at_level("DEBUG"):
            outcome = connector.send(instruction(reference))
            found = connector.look_up(reference)

        shown = f"{caplog.text} {connector!r} {outcome!r} {found!r} {sandbox.books()}"
        assert SECRET not in shown, "the secret is in a log, a repr or the books"
        assert ACCOUNT not in shown, "a whole account number is in a log, a repr or the books"
        assert ACCOUNT not in sandbox.books_file.read_text()

    @pytest.mark.parametrize(
        "settings",
        [{"URL": ""}, {"URL": "ftp://x"}, {"SECRET": ""}, {"SECRET": "s3cret\n"}],
        ids=repr,
    )
    def test_says_at_start_what_it_cannot_use(self, settings: dict[str, str]) -> None:
        with pytest.raises(ValueError, match=r"the sandbox connector's (URL|SECRET)") as error:
            SandboxConnector({"URL": "http://127.0.0.1:1", "SECRET": SECRET, **settings})
        assert "s3cret" not in str(error.value)
