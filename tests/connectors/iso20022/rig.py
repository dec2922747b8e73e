"""mock-bank as a rig of the conformance suite."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from fulfilment.testing.conformance import Fault, HttpRig
from tests.connectors.iso20022.bank import CREDITOR, MockBank

_NEXT = "another password of this test"


class BankRig(HttpRig):
    """Euros to an IBAN at another bank."""

    amount = 10_50
    currency = "EUR"
    credentials = ("PASSWORD",)
    private = (CREDITOR,)
    instruction: ClassVar[Mapping[str, Any]] = {
        "account": CREDITOR,
        "name": "Ada",
        "narration": "INV-1",
    }
    cannot: ClassVar[Mapping[Fault, str]] = {
        Fault.TURNED_AWAY: "the bank turns nobody away but for wrong credentials",
    }

    def __init__(self, bank: MockBank) -> None:
        super().__init__(bank.url)
        self.bank = bank

    def settings(self) -> Mapping[str, Any]:
        given = self.bank.settings(self.line.url, VISIBLE_AFTER=timedelta(seconds=1))
        del given["CLASS"]
        return given

    @contextmanager
    def provoke(self, fault: Fault) -> Iterator[None]:
        match fault:
            case Fault.DECLINED:
                self.bank.ask("PATCH", "/_mock/accounts/ACME", {"closed": True})
            case Fault.RETURNED_LATER:
                self.bank.behave("return-later", days=2)
        try:
            yield
        finally:
            self.bank.ask("PATCH", "/_mock/accounts/ACME", {"closed": False})
            self.bank.behave("accept")

    def lie(self, fault: Fault, body: bytes) -> bytes:
        listed = json.loads(body)
        if not isinstance(listed, list):
            return body  # the answer to a file says nothing of what was paid to whom
        said = listed[0]
        match fault:
            case Fault.WRONG_AMOUNT:
                said["amount"] += 1
            case Fault.WRONG_CURRENCY:
                said["currency"] = "USD"
            case Fault.WRONG_RECIPIENT:
                said["creditor_iban"] = CREDITOR[:-5] + "9" + CREDITOR[-4:]  # the same last digits
        return json.dumps(listed).encode()

    @contextmanager
    def rotate(self) -> Iterator[Mapping[str, str]]:
        before = self.bank.password
        self._restart(_NEXT)
        try:
            yield {"PASSWORD": _NEXT}
        finally:
            self._restart(before)

    def let_return(self, reference: str) -> None:
        self.bank.advance(6)

    def effects(self, reference: str) -> int:
        return self.bank.paid(reference)

    def _restart(self, password: str) -> None:
        self.bank.stop()
        self.bank.password = password
        self.bank.start()


@contextmanager
def running() -> Iterator[BankRig]:
    """A bank of its own, for a class of tests."""
    with tempfile.TemporaryDirectory() as folder:
        bank = MockBank(Path(folder))
        rig = BankRig(bank)
        try:
            yield rig
        finally:
            rig.line.close()
            bank.stop()
