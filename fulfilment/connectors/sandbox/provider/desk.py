"""The desk where calls arrive: one lock, so that identical calls at once give one booking."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from fulfilment.connectors.sandbox.provider import answers
from fulfilment.connectors.sandbox.provider.agenda import Agenda
from fulfilment.connectors.sandbox.provider.answers import Answer
from fulfilment.connectors.sandbox.provider.books import Books
from fulfilment.connectors.sandbox.provider.calls import Call
from fulfilment.connectors.sandbox.provider.clerk import Clerk, Decision
from fulfilment.connectors.sandbox.provider.courier import Courier
from fulfilment.connectors.sandbox.provider.faults import Kind
from fulfilment.connectors.sandbox.provider.order import Order, Product
from fulfilment.connectors.sandbox.provider.payment import OPEN, PAID, REVERSED, SUCCEEDED, Payment
from fulfilment.connectors.sandbox.provider.rules import Rules, Unbooked

T = TypeVar("T")


class Desk:
    """Everything the provider knows of payments, and when each thing is decided, said, reported."""

    def __init__(
        self, books: Books, courier: Courier, agenda: Agenda, *, url: str, delay: float, seed: str
    ) -> None:
        """`url`: where the provider listens. `delay`: seconds between booking and answering."""
        self._books = books
        self._courier = courier
        self._agenda = agenda
        self._url = url
        self._delay = delay
        self._rules = Rules()
        self._clerk = Clerk(books, self._rules, url=url, seed=seed)
        self._lock = threading.Lock()

    def start(self) -> None:
        """Takes up what an earlier process left: payments that are still to come back."""
        with self._lock:
            for booked in self._books.payments():
                self._reverse_when_due(booked)

    def pay(self, order: Order, call: Call) -> Answer:
        """Books the order once for ever; a known reference is answered from the books at once."""
        with self._lock:
            fate = self._clerk.receive(order, call)
            decided = None if fate.fault.kind is Kind.OK_AFTER else self._clerk.decide(order, fate)
        if decided is None:
            time.sleep(fate.fault.seconds)  # outside the lock: others may book it first
            with self._lock:
                decided = self._clerk.decide(order, fate)
        return self._carry_out(decided).later(self._delay)

    def look_up(self, kind: Product, reference: str, call: Call) -> Answer:
        """The payment as booked; 404 if there is none, 503 during an outage of the look-up."""
        with self._lock:
            call.reference = reference
            booked = self._books.find(kind, reference)
            if self._rules.hide(booked or Unbooked(kind=kind, reference=reference)):
                call.fault = Kind.LOOKUP_OUTAGE
                return answers.error(503, "unavailable", "Payments cannot be looked up right now.")
        if booked is None:
            return answers.error(404, "not_found", f"No {kind} has this reference.")
        return answers.found(booked, url=self._url)

    def checkout(self, checkout_id: str) -> Payment | None:
        """The checkout with this id of ours."""
        with self._lock:
            return self._books.find_checkout(checkout_id)

    def pay_checkout(self, checkout_id: str) -> Payment | None:
        """Somebody pays at a checkout; whoever pays again changes nothing. Raises OSError."""
        with self._lock:
            checkout = self._books.find_checkout(checkout_id)
            if checkout is None or checkout.status != OPEN:
                return checkout
            decided = self._clerk.change(checkout, status=PAID)
        self._carry_out(decided)
        return decided.booked

    def ruled(self, use: Callable[[Rules], T]) -> T:
        """What `use` makes of the rules, under the lock."""
        with self._lock:
            return use(self._rules)

    def statement(self) -> dict[str, Any]:
        """The books for an oracle. `count` and `totals` are money that left and stayed away."""
        with self._lock:
            payments = self._books.payments()
            return {
                "payments": [self._line(booked) for booked in payments],
                "count": sum(booked.status == SUCCEEDED for booked in payments),
                "totals": self._books.totals(),
            }

    def close(self) -> None:
        """Waits for a booking in progress, then closes the books; who comes later waits in vain."""
        self._lock.acquire()  # never released: the process ends next
        self._books.close()

    def _carry_out(self, decided: Decision) -> Answer:
        """Outside the lock: it may have to wait until the receiver has the news."""
        if decided.booked:
            self._reverse_when_due(decided.booked)
        self._courier.post(decided.news, at_once=decided.wait is not None)
        if decided.wait is None or self._courier.wait(decided.news, seconds=decided.wait):
            return decided.answer
        return answers.RESET

    def _reverse_when_due(self, booked: Payment) -> None:
        if booked.reverse_at and booked.status == SUCCEEDED:
            wait = datetime.fromisoformat(booked.reverse_at) - datetime.now(UTC)
            self._agenda.after(wait.total_seconds(), partial(self._reverse, booked))

    def _reverse(self, booked: Payment) -> None:
        with self._lock:
            decided = self._clerk.change(booked, status=REVERSED)
        self._carry_out(decided)

    def _line(self, booked: Payment) -> dict[str, Any]:
        return answers.resource(booked, url=self._url) | {
            "recipient": booked.recipient,
            "kind": booked.kind,
            "narration": booked.narration,
            "calls": self._clerk.times_asked(booked),
        }
