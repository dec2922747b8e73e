"""The fake, as a test holds it: tell it what to do, let it act by itself, ask what it really did."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from django.http import HttpResponse

from fulfilment.models import Fulfilment
from fulfilment.testing import books, conduct, script
from fulfilment.testing.books import Fact
from fulfilment.testing.deliveries import deliver
from fulfilment.testing.script import LookUpWord, SendWord

# Signs the fake's events; nothing else ever believes it.
SECRET: Final = "whsec_" + base64.b64encode(b"the secret of a fake in tests...").decode()
_EVENTS = {
    "paid": ("transfer.succeeded", "succeeded"),
    "declined": ("transfer.failed", "failed"),
    "given_back": ("transfer.reversed", "reversed"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """Money that really moved. `amount` in minor units."""

    reference: str
    amount: int
    currency: str
    given_back: bool  # afterwards


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One question or order of ours, and the kind of answer it got (`"Done"`, `"NotFound"` …)."""

    kind: str  # "send" or "look_up"
    reference: str
    said: str
    instruction: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of an order


class FakeProvider:
    """Everything here is in the file `path`: any process that has it holds the same fake."""

    def __init__(self, path: Path | str, *, name: str = "fake") -> None:
        """`name` is the connector's, and the one in the address of its events."""
        self.path = Path(path)
        self.name = name
        # Each file's own, so that no event of another test is taken for one of this.
        self.account = f"acct_{hashlib.sha256(str(self.path).encode()).hexdigest()[:12]}"

    def on_send(
        self,
        word: SendWord,
        *,
        reference: str | None = None,
        times: int | None = 1,
        takes: timedelta = timedelta(0),
    ) -> None:
        """What it does with the next orders: `times` of them, None for all from now on.

        Of one reference, or of any. An answer that `takes` longer than the call may last comes
        too late: what was asked for is done, and the caller knows nothing. Without a word of the
        test's an order is "done".
        """
        with books.opened(self.path) as page:
            script.tell(page, "send", word, reference=reference, times=times, takes=takes)

    def on_look_up(
        self, word: LookUpWord, *, reference: str | None = None, times: int | None = 1
    ) -> None:
        """What it says to the next look-ups, as in `on_send`; else what is on its books."""
        with books.opened(self.path) as page:
            script.tell(page, "look_up", word, reference=reference, times=times, takes=timedelta(0))

    def behave(self) -> None:
        """Nothing that a test told it counts any more: from now on it does what it is asked."""
        with books.opened(self.path) as page:
            script.forget(page)

    def pay(self, reference: str, *, amount: int | None = None) -> None:
        """An order that it was sent is carried out now: accepted before, or late on its way.

        `amount` only where it pays another one than it was asked for. Raises AssertionError where
        it never had such an order.
        """
        self._become("paid", reference, amount)

    def decline(self, reference: str) -> None:
        """It decides now that it will not carry out this order."""
        self._become("declined", reference)

    def give_back(self, reference: str) -> None:
        """What it paid comes back. Raises AssertionError where it has not paid."""
        if not self.payments(reference):
            raise AssertionError(f"{self.name} has paid nothing under {reference} to give back")
        self._become("given_back", reference)

    def pass_time(self, by: timedelta) -> None:
        """Its own clock goes on; `fulfilment.testing.pass_time` says so to every fake in use."""
        with books.opened(self.path) as page:
            page.write("passed", seconds=by.total_seconds())

    def payments(self, reference: str | None = None) -> list[Payment]:
        """What it has really paid, oldest first: every time counts, under whatever reference."""
        with books.opened(self.path) as page:
            back = {fact["reference"] for fact in page.of("given_back")}
            return [_payment(fact, back) for fact in page.of("paid", reference=reference)]

    def calls(self, reference: str | None = None) -> list[Call]:
        """Every order and every question that reached this connector, oldest first."""
        with books.opened(self.path) as page:
            return [_call(fact) for fact in page.of("sent", "asked", reference=reference)]

    def event(self, kind: str, *, event_id: str | None = None, **data: Any) -> bytes:
        """An event of its own, in the words of the sandbox; `data` names reference, amount …"""
        return self._worded(kind, event_id or f"evt_{uuid4().hex}", datetime.now(UTC), data)

    def report(self, reference: str) -> HttpResponse:
        """Deliver what became of an order, through the project's own address (`deliver`).

        The same again is another delivery of the same event. Raises AssertionError where nothing
        is decided, or where the event is not taken.
        """
        with books.opened(self.path) as page:
            decided = page.of(*_EVENTS, reference=reference)
        if not decided:
            raise AssertionError(f"{self.name} has decided nothing about {reference} to report")
        return deliver(self.name, self._reported(decided[-1]))

    def _become(self, becomes: str, reference: str, amount: int | None = None) -> None:
        with books.opened(self.path) as page:
            order = page.order(reference)
            asked = order["amount"] if amount is None else amount
            conduct.carry_out(page, reference, becomes, asked, order["currency"])

    def _reported(self, fact: Fact) -> bytes:
        kind, status = _EVENTS[fact["fact"]]
        names = ("reference", "amount", "currency", "id")
        data = {name: fact[name] for name in names} | {"status": status}
        at = datetime.fromtimestamp(fact["at"], UTC)
        return self._worded(kind, f"evt_{fact['id']}", at, data)

    def _worded(self, kind: str, event_id: str, at: datetime, data: Mapping[str, Any]) -> bytes:
        ours = {"account": self.account, "livemode": False, "created_at": at.isoformat()}
        return json.dumps({"id": event_id, "type": kind, "data": data} | ours).encode()


def reference_of(subject: str | Fulfilment) -> str:
    """Of a fulfilment, its reference at the provider."""
    return subject if isinstance(subject, str) else subject.reference


def _payment(fact: Fact, back: set[str]) -> Payment:
    reference = fact["reference"]
    return Payment(
        reference=reference,
        amount=fact["amount"],
        currency=fact["currency"],
        given_back=reference in back,
    )


def _call(fact: Fact) -> Call:
    kind = "send" if fact["fact"] == "sent" else "look_up"
    return Call(
        kind=kind,
        reference=fact["reference"],
        said=fact["said"],
        instruction=fact.get("instruction", {}),
    )
