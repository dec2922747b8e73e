"""The fake of `fulfilment.testing` as a rig: it has to keep the promises that it is believed for."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

from fulfilment.connectors.base import Capabilities
from fulfilment.reconcile.evidence import Finding
from fulfilment.testing import PROMISES, FakeProvider, sign
from fulfilment.testing.conformance import NAME, Fault
from fulfilment.testing.provider import SECRET

_IN_PROCESS = "it is called inside the process and not over a line"
_ON_BOOKS = "its look-ups tell what is on its books, and those hold what it was asked for"
_SENDS: dict[Fault, Any] = {
    Fault.REFUSED: "not_sent",
    Fault.LOST_REQUEST: "request_lost",
    Fault.LATE_REQUEST: "request_lost",
    Fault.LOST_ANSWER: "answer_lost",
    Fault.SLOW_ANSWER: "done",
    Fault.DECLINED: "declined",
    Fault.TURNED_AWAY: "refused",
    Fault.RETURNED_LATER: "done",
}
_TYPES = {Finding.DONE: "succeeded", Finding.NOT_DONE: "failed", Finding.REVERSED: "reversed"}


class FakeHooks:
    """Worded as the sandbox's."""

    secret = SECRET
    other_secret = "whsec_" + "b" * 32
    timestamped = True

    def __init__(self, fake: FakeProvider) -> None:
        self._fake = fake
        self.entry: Mapping[str, Any] = {"LIVEMODE": False, "ACCOUNTS": {fake.account: (NAME,)}}

    def event(self, reference: str, said: Finding) -> bytes:
        paid = next(iter(self._fake.payments(reference)), None)
        booked = {"amount": paid.amount, "currency": paid.currency} if paid else {}
        return self._fake.event(f"transfer.{_TYPES[said]}", reference=reference, **booked)

    def strangers(self, reference: str) -> Mapping[str, bytes]:
        told = json.loads(self.event(reference, Finding.DONE))
        others = {
            "another account": {"account": "acct_of_others"},
            "the other mode": {"livemode": True},
        }
        return {
            whose: json.dumps(told | odd | {"id": whose}).encode() for whose, odd in others.items()
        }

    def signed(self, body: bytes, *, secret: str, at: datetime) -> Mapping[str, str]:
        return sign(body, secret=secret, at=at)


class FakeRig:
    """What it is told stands in its own file, beside what it did."""

    amount = 500
    currency = "NGN"
    instruction: ClassVar[dict[str, Any]] = {"bank": "058", "account": "0123456789"}
    private = ("0123456789",)
    credentials: tuple[str, ...] = ()
    cannot: ClassVar[dict[Fault, str]] = {
        Fault.TRICKLE: _IN_PROCESS,
        Fault.CUT_SHORT: _IN_PROCESS,
        Fault.SERVER_ERROR: _IN_PROCESS,
        Fault.ODD_SUCCESS: _IN_PROCESS,
        Fault.GARBAGE: _IN_PROCESS,
        Fault.HUGE: _IN_PROCESS,
        Fault.REDIRECT: _IN_PROCESS,
        Fault.WRONG_AMOUNT: _ON_BOOKS,
        Fault.WRONG_CURRENCY: _ON_BOOKS,
        Fault.WRONG_RECIPIENT: _ON_BOOKS,
        Fault.ROTATED: "it asks for no credentials",
    }

    def __init__(self, fake: FakeProvider) -> None:
        self.fake = fake
        self.hooks = FakeHooks(fake)
        self.promises: Capabilities = replace(PROMISES, late_reversal_horizon=timedelta(hours=1))
        self._late: list[str] = []

    def settings(self) -> Mapping[str, Any]:
        return {"BOOKS": self.fake.path, "CAPABILITIES": self.promises}

    @contextmanager
    def inject(self, fault: Fault) -> Iterator[None]:
        before = len(self.fake.calls())
        takes = timedelta(minutes=1) if fault is Fault.SLOW_ANSWER else timedelta(0)
        self.fake.on_send(_SENDS[fault], times=None, takes=takes)
        if fault not in {Fault.DECLINED, Fault.TURNED_AWAY, Fault.RETURNED_LATER}:
            self.fake.on_look_up("no_information", times=None)
        try:
            yield
        finally:
            self.fake.behave()
            if fault is Fault.LATE_REQUEST:
                made = self.fake.calls()[before:]
                self._late += [call.reference for call in made if call.kind == "send"]

    def let_through(self) -> None:
        while self._late:
            self.fake.pay(self._late.pop())

    def let_settle(self, reference: str) -> None:
        pass

    def let_return(self, reference: str) -> None:
        self.fake.give_back(reference)

    def rotate(self) -> Any:
        raise NotImplementedError

    def calls(self, reference: str) -> int:
        return len(self.fake.calls(reference))

    def effects(self, reference: str) -> int:
        return len(self.fake.payments(reference))


@contextmanager
def running() -> Iterator[FakeRig]:
    with tempfile.TemporaryDirectory() as folder:
        yield FakeRig(FakeProvider(Path(folder) / "books", name=NAME))
