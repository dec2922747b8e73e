"""The provider's own books, on disk before anything is answered.

A reference is booked once for ever. Declined payments are booked too: a decline is final. Each
line is a payment as it stands from then on, together with what is reported of it, so that no crash
can separate the two.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fulfilment.connectors.sandbox.provider.events import Event
from fulfilment.connectors.sandbox.provider.journal import Journal
from fulfilment.connectors.sandbox.provider.order import Product
from fulfilment.connectors.sandbox.provider.payment import SUCCEEDED, Payment


class Books:
    """All payments of one file. Not thread-safe: the desk's one lock guards every call."""

    def __init__(self, path: Path) -> None:
        """Opens or creates the file. Raises `BooksUnusable`."""
        self._payments: dict[tuple[str, str], Payment] = {}
        self._spoiled: set[tuple[str, str]] = set()
        self._events: list[Event] = []
        self._journal = Journal(path, read=self._read)

    def find(self, kind: str, reference: str) -> Payment | None:
        """What is booked under this reference, if anything."""
        return self._payments.get((kind, reference))

    def find_checkout(self, checkout_id: str) -> Payment | None:
        """The checkout with this id of ours, if any."""
        checkouts = (p for p in self._payments.values() if p.kind == Product.CHECKOUT)
        return next((p for p in checkouts if p.id == checkout_id), None)

    def is_spoiled(self, kind: str, reference: str) -> bool:
        """Does this reference get the same 500 for ever?"""
        return (kind, reference) in self._spoiled

    def spoil(self, kind: str, reference: str) -> None:
        """Remembers that this reference gets the same 500 for ever. Raises OSError."""
        self._journal.append({"spoiled": [kind, reference]})
        self._spoiled.add((kind, reference))

    def enter(self, payment: Payment, events: Iterable[Event]) -> None:
        """Books it as it stands now, on disk before this returns.

        Raises OSError when it cannot be written; then nothing is booked.
        """
        events = tuple(events)
        self._journal.append(asdict(payment) | {"events": [asdict(event) for event in events]})
        self._payments[payment.kind, payment.reference] = payment
        self._events += events

    def payments(self) -> list[Payment]:
        """All of them, oldest first, declined ones included."""
        return list(self._payments.values())

    def events(self) -> list[Event]:
        """All that was ever reported or is still to be, oldest first."""
        return list(self._events)

    def totals(self) -> dict[str, int]:
        """Money that left and stayed away, in minor units per currency."""
        totals: Counter[str] = Counter()
        for payment in self._payments.values():
            if payment.status == SUCCEEDED:
                totals[payment.currency] += payment.amount
        return dict(sorted(totals.items()))

    def close(self) -> None:
        """Releases the file."""
        self._journal.close()

    def _read(self, line: Mapping[str, Any]) -> None:
        members = dict(line)
        if spoiled := members.pop("spoiled", None):
            kind, reference = spoiled
            self._spoiled.add((kind, reference))
            return
        self._events += [Event(**event) for event in members.pop("events", ())]
        payment = Payment(**members)
        self._payments[payment.kind, payment.reference] = payment
