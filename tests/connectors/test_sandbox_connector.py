"""What the sandbox connector says of each answer, against a real provider process.

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
from tests.connectors.sandbox import ACCOUNT, SECRET, Sandbox, expect, instruction, paid
from tests.connectors.servers import unused_url

pytestmark = pytest.mark.processes


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

        expect(connector.send(instruction(reference)), NotSent, "nothing was connected")
        expect(connector.look_up(reference), NoInformation, "a provider that is down says nothing")

    def test_an_instruction_without_a_recipient_is_not_sent(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        whole = instruction(reference)
        partial = type(whole)(
            reference=reference, amount=1, currency="NGN", instruction={}, deadline=whole.deadline
        )

        expect(sandbox.connector().send(partial), NotSent, "there was nothing to send")
        assert sandbox.calls(reference) == []


class TestWhatTheProviderSaysIsNot:
    def test_a_decline_is_final_and_no_money_left(self, sandbox: Sandbox, reference: str) -> None:
        sandbox.set_fault("decline", times=1)
        connector = sandbox.connector()

        expect(connector.send(instruction(reference)), Declined, "the provider declined")
        expect(connector.send(instruction(reference)), Declined, "a decline stays, sent again")
        expect(connector.look_up(reference), Declined, "a decline stays, looked up")
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
        expect(connector.send(instruction(reference)), Done, "the reference is still free")

    def test_a_wrong_secret_is_refused_and_tells_a_look_up_nothing(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        connector = sandbox.connector(SECRET="of somebody else")

        expect(connector.send(instruction(reference)), Refused, "the secret is wrong")
        expect(connector.look_up(reference), NoInformation, "a 401 is not 'not found'")
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

        expect(connector.look_up(reference), NoInformation, "look-ups are out")
        sandbox.clear_faults("fault=lookup_outage")
        expect(connector.look_up(reference), Done, "the outage is over")

    def test_at_a_wrong_address_tells_nothing(self, sandbox: Sandbox, reference: str) -> None:
        """A 404 of a mistyped URL read as 'not found' would pay again."""
        connector = sandbox.connector(URL=f"{sandbox.url}/api")

        expect(connector.look_up(reference), NoInformation, "a wrong address knows nothing")

    def test_of_an_unknown_reference_is_not_found(self, sandbox: Sandbox, reference: str) -> None:
        expect(sandbox.connector().look_up(reference), NotFound, "nobody sent it")


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
        [
            {"URL": ""},
            {"URL": "ftp://x"},
            {"SECRET": ""},
            {"SECRET": "s3cret\r\nX: y"},
            {"SECRET": " s3cret"},
        ],
        ids=repr,
    )
    def test_says_at_start_what_it_cannot_use(self, settings: dict[str, str]) -> None:
        with pytest.raises(ValueError, match=r"the sandbox connector's (URL|SECRET)") as error:
            SandboxConnector({"URL": "http://127.0.0.1:1", "SECRET": SECRET, **settings})
        assert "s3cret" not in str(error.value)
