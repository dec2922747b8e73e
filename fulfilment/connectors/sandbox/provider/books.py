"""The provider's own books: one JSON line per payment, appended and synced before it is answered.

A reference is booked once for ever. Declined payments are booked too: a decline is final.
"""

import fcntl
import hashlib
import json
import os
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from fulfilment.connectors.sandbox.provider.order import Order, mask

SUCCEEDED = "succeeded"
FAILED = "failed"


class BooksUnusable(Exception):
    """The books cannot be kept in this file; the message is one sentence with a remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """One line of the books. `account` is masked; the digest compares it with a later request."""

    id: str
    reference: str
    status: str
    amount: int
    currency: str
    bank: str
    account: str
    account_digest: str
    narration: str
    created_at: str

    def is_what_was_asked(self, order: Order) -> bool:
        """Same content, not only the same reference?"""
        mine = (self.amount, self.currency, self.bank, self.account_digest, self.narration)
        asked = (order.amount, order.currency, order.bank, order.account_digest, order.narration)
        return mine == asked


class Books:
    """All payments of one file. Not thread-safe: the desk's one lock guards every call."""

    def __init__(self, path: Path) -> None:
        """Opens or creates the file. Raises `BooksUnusable`."""
        self._file = _open(path)
        self._payments = {payment.reference: payment for payment in _load(self._file, path)}

    def find(self, reference: str) -> Payment | None:
        """The payment booked under this reference, if any."""
        return self._payments.get(reference)

    def book(self, order: Order, *, declined: bool) -> Payment:
        """Books it, on disk before this returns. The caller has made sure the reference is new.

        Raises OSError when it cannot be written; then nothing is booked.
        """
        payment = _payment(order, status=FAILED if declined else SUCCEEDED)
        self._append(json.dumps(asdict(payment)).encode() + b"\n")
        self._payments[payment.reference] = payment
        return payment

    def payments(self) -> list[Payment]:
        """All payments, oldest first, declined ones included."""
        return list(self._payments.values())

    def totals(self) -> dict[str, int]:
        """Money that left, in minor units per currency."""
        totals: Counter[str] = Counter()
        for payment in self._payments.values():
            if payment.status == SUCCEEDED:
                totals[payment.currency] += payment.amount
        return dict(sorted(totals.items()))

    def close(self) -> None:
        """Releases the file."""
        os.close(self._file)

    def _append(self, line: bytes) -> None:
        before = os.fstat(self._file).st_size
        try:
            _write(self._file, line)
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, before)  # else the next booking would be glued to half a line
            raise


def _write(file: int, line: bytes) -> None:
    if os.write(file, line) != len(line):
        raise OSError("the line was cut short")


def _payment(order: Order, *, status: str) -> Payment:
    digest = hashlib.sha256(order.reference.encode()).hexdigest()
    return Payment(
        id=f"pay_{digest[:24]}",  # from the reference, so that two runs of a test print the same
        reference=order.reference,
        status=status,
        amount=order.amount,
        currency=order.currency,
        bank=order.bank,
        account=mask(order.account),
        account_digest=order.account_digest,
        narration=order.narration,
        created_at=datetime.now(UTC).isoformat(),
    )


def _open(path: Path) -> int:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BooksUnusable(
            f"the books {path} cannot be written ({error.strerror}); name a writable file with --books"
        ) from error
    try:
        # Two providers on one file would each book the same reference.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        raise BooksUnusable(
            f"another provider keeps the books {path}; stop it or name another file with --books"
        ) from error
    return file


def _load(file: int, path: Path) -> list[Payment]:
    with open(file, "rb", closefd=False) as lines:
        content = lines.read()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.ftruncate(file, whole)  # died in mid-write: it was never synced, so never answered
    return [_parse(line, n, path) for n, line in enumerate(content[:whole].splitlines(), start=1)]


def _parse(line: bytes, number: int, path: Path) -> Payment:
    try:
        return Payment(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise BooksUnusable(
            f"line {number} of the books {path} is not a payment; repair it or name another file"
        ) from error
