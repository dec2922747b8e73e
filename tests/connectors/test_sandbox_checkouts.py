"""Checkouts: opened once per reference, paid once by a person, reported by `payment.succeeded`."""

import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from fulfilment.connectors.base import Declined, NoInformation, NotFound, NotSent, Refused, Unknown
from fulfilment.connectors.sandbox import CheckoutDesk
from fulfilment.connectors.sandbox.checkouts import Opened, Opening, Paid
from tests.connectors.receiver import Receiver
from tests.connectors.sandbox import SECRET, Sandbox, expect
from tests.connectors.servers import unused_url

pytestmark = pytest.mark.processes

METADATA = {"phone": "+2348012345678", "basket": [1, 2]}


def desk(sandbox: Sandbox, **changes: Any) -> CheckoutDesk:
    return CheckoutDesk(sandbox.settings(**changes))


def opened(sandbox: Sandbox, reference: str, **changes: Any) -> Opening:
    """Asks for a checkout of NGN 500.00."""
    wanted = {"amount": 500_00, "currency": "NGN", "metadata": METADATA, **changes}
    return desk(sandbox).open(reference, **wanted)


def press_pay(checkout: Opening) -> str:
    """What a browser does when the person presses the button; the page it then shows."""
    assert isinstance(checkout, Opened)
    request = urllib.request.Request(
        f"{checkout.url}/pay", method="POST", data=b"", headers={"Accept": "text/html"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(answer.read().decode())


class TestOpening:
    def test_is_done_once_per_reference(self, sandbox: Sandbox, reference: str) -> None:
        first = opened(sandbox, reference)
        again = opened(sandbox, reference)

        assert isinstance(first, Opened), first
        assert (first.amount, first.currency) == (500_00, "NGN")
        assert first.id.startswith("chk_")
        assert first.url == f"{sandbox.url}/checkouts/{first.id}"
        assert again == first, "opened twice under one reference"
        assert len(sandbox.payments(reference)) == 1
        assert sandbox.books()["totals"] == {}, "no money leaves by a checkout"

    def test_by_thirty_at_once_opens_one(self, sandbox: Sandbox, reference: str) -> None:
        start = threading.Barrier(30)

        def open_one(_: int) -> Opening:
            start.wait(timeout=20)
            return opened(sandbox, reference)

        with ThreadPoolExecutor(30) as threads:
            outcomes = list(threads.map(open_one, range(30)))

        assert {getattr(outcome, "id", outcome) for outcome in outcomes} == {outcomes[0].id}  # type: ignore[union-attr]
        assert len(sandbox.books()["payments"]) == 1

    @pytest.mark.parametrize(
        "change", [{"amount": 1}, {"currency": "EUR"}, {"metadata": {"basket": [2, 1]}}], ids=str
    )
    def test_with_other_content_under_the_reference_is_unknown(
        self, sandbox: Sandbox, reference: str, change: dict[str, Any]
    ) -> None:
        first = opened(sandbox, reference)

        expect(opened(sandbox, reference, **change), Unknown, "another checkout has the reference")
        assert desk(sandbox).find(reference) == first

    def test_says_what_never_left_us_and_what_was_refused(
        self, sandbox: Sandbox, reference: str
    ) -> None:
        nowhere = CheckoutDesk({"URL": unused_url(), "SECRET": SECRET})
        expect(nowhere.open(reference, amount=1, currency="NGN"), NotSent, "nothing listens")
        expect(nowhere.find(reference), NoInformation, "a provider that is down says nothing")
        stranger = desk(sandbox, SECRET="of somebody else")
        expect(stranger.open(reference, amount=1, currency="NGN"), Refused, "a wrong secret")
        expect(opened(sandbox, reference, currency="naira"), Refused, "a request of no sense")
        expect(desk(sandbox).find(reference), NotFound, "nobody opened it")

    @pytest.mark.parametrize(
        ("wish", "outcome", "found"),
        [
            ("sandbox:hang(30)", Unknown, Opened),
            ("sandbox:accept_then_reset", Unknown, Opened),
            ("sandbox:lose_request", Unknown, NotFound),
            ("sandbox:refuse", Refused, NotFound),
            ("sandbox:cached_500(1)", Unknown, Opened),
            ("sandbox:decline", Declined, Declined),
            ("sandbox:accept_then_reset sandbox:lookup_outage", Unknown, NoInformation),
        ],
    )
    def test_can_fail_in_every_way(
        self, sandbox: Sandbox, reference: str, wish: str, outcome: type, found: type
    ) -> None:
        """A wish can stand in the metadata, which an application can pass through."""
        second = timedelta(seconds=1)
        metadata = METADATA | {"narration": wish}

        expect(opened(sandbox, reference, metadata=metadata, deadline=second), outcome, wish)
        expect(desk(sandbox).find(reference), found, wish)


class TestPaying:
    def test_changes_it_once_and_is_reported_once(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        checkout = opened(reporting, reference)

        pages = [press_pay(checkout) for _ in range(2)]

        assert all("This checkout is paid." in page for page in pages)
        assert all("<button" not in page for page in pages), "a paid checkout offers to pay again"
        found = desk(reporting).find(reference)
        assert isinstance(found, Paid), f"a look-up must say that it was paid: {found}"
        expect(opened(reporting, reference), Paid, "opening it again says so, too")
        [delivery] = receiver.wait_for(reference)
        event = delivery.event
        assert event["type"] == "payment.succeeded"
        assert event["data"] == {
            "id": event["data"]["id"],
            "reference": reference,
            "status": "succeeded",
            "amount": 500_00,
            "currency": "NGN",
            "recipient": {},
            "checkout_id": found.id,
            "metadata": METADATA,
        }
        assert event["data"]["id"] != found.id
        assert len(reporting.events(reference)) == 1, "paying twice was reported twice"

    def test_by_thirty_at_once_is_one_payment(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        checkout = opened(reporting, reference)

        with ThreadPoolExecutor(30) as threads:
            list(threads.map(lambda _: press_pay(checkout), range(30)))

        receiver.wait_for(reference)
        assert len(reporting.events(reference)) == 1, "find and pay are not under one lock"

    def test_survives_the_process(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        receiver.answer_in_turn(503)
        press_pay(opened(reporting, reference))
        [first, *_] = receiver.wait_for(reference)
        reporting.stop(kill=True)
        receiver.answer_in_turn(200)
        before = len(receiver.about(reference))

        reporting.start()

        assert isinstance(desk(reporting).find(reference), Paid), "a restart forgot who paid"
        later = receiver.wait_for(reference, count=before + 1)[before]
        assert (later.id, later.body) == (first.id, first.body)

    def test_is_reported_wrongly_twice_or_not_at_all_where_that_was_asked(
        self, reporting: Sandbox, receiver: Receiver, reference: str
    ) -> None:
        """The wish is made at the opening and survives a restart until somebody pays."""
        wishes = {"narration": "sandbox:duplicate sandbox:wrong_amount"}
        twice = opened(reporting, reference, metadata=wishes)
        never = opened(reporting, reference[::-1], metadata={"narration": "sandbox:no_webhook"})
        reporting.stop()
        reporting.start()
        press_pay(never)
        press_pay(twice)

        tries = receiver.wait_for(reference, count=4)
        assert len({d.id for d in tries}) == 2
        assert {d.event["data"]["amount"] for d in tries} == {500_01}
        assert receiver.about(reference[::-1]) == []
        assert isinstance(desk(reporting).find(reference[::-1]), Paid)

    def test_needs_a_checkout_that_exists(self, sandbox: Sandbox) -> None:
        with pytest.raises(OSError, match="404"):
            sandbox.request("POST", "/checkouts/chk_nothing/pay")


def test_the_page_says_what_is_to_be_paid_and_runs_nothing(
    sandbox: Sandbox, reference: str
) -> None:
    checkout = opened(sandbox, reference)
    assert isinstance(checkout, Opened)
    with urllib.request.urlopen(checkout.url, timeout=10) as answer:
        page, policy = answer.read().decode(), answer.headers["Content-Security-Policy"]

    assert "50,000 NGN" in page
    assert reference in page
    assert '<form method="post"' in page
    assert "default-src 'none'" in policy
    assert "<script" not in page
