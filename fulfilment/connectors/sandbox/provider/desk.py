"""The desk where calls arrive: decides under one lock what is booked and what is answered."""

import threading
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from fulfilment.connectors.sandbox.provider import answers
from fulfilment.connectors.sandbox.provider.answers import Answer
from fulfilment.connectors.sandbox.provider.books import SUCCEEDED, Books, Payment
from fulfilment.connectors.sandbox.provider.faults import Fault, Kind
from fulfilment.connectors.sandbox.provider.order import Order
from fulfilment.connectors.sandbox.provider.rules import Rules, Unbooked

# A demo that polls for days must not eat the machine's memory.
_CALLS_KEPT = 10_000


@dataclass(slots=True)
class Call:
    """One call as the oracle shows it; `answer` is empty while it is being decided."""

    at: str
    method: str
    path: str
    reference: str = ""
    fault: str = ""
    answer: str = ""


class Desk:
    """Everything the provider knows. One lock: identical calls at once give one booking."""

    def __init__(self, books: Books, *, delay: float = 0.0) -> None:
        """`delay`: seconds between booking a payment and answering."""
        self._books = books
        self._delay = delay
        self._rules = Rules()
        self._calls: deque[Call] = deque(maxlen=_CALLS_KEPT)
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def pay(self, order: Order, call: Call) -> Answer:
        """Books the order once for ever; a known reference is answered from the books at once."""
        with self._lock:
            fault = self._arrived(order, call)
            if fault.kind is not Kind.OK_AFTER:
                return self._decide(order, fault)
        time.sleep(fault.seconds)  # outside the lock: others are served, and may book it first
        with self._lock:
            return self._decide(order, fault)

    def look_up(self, reference: str, call: Call) -> Answer:
        """The payment as booked; 404 if there is none, 503 during an outage of the look-up."""
        with self._lock:
            call.reference = reference
            payment = self._books.find(reference)
            if self._rules.hide(payment or Unbooked(reference=reference)):
                call.fault = Kind.LOOKUP_OUTAGE
                return answers.error(503, "unavailable", "Payments cannot be looked up right now.")
        if payment is None:
            return answers.error(404, "not_found", "No payment has this reference.")
        return answers.found(payment)

    def open_call(self, method: str, path: str) -> Call:
        """Logs that a call arrived."""
        call = Call(at=datetime.now(UTC).isoformat(), method=method, path=path)
        with self._lock:
            self._calls.append(call)
        return call

    def set_fault(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """Sets a rule and describes it. Raises `InvalidRequest`."""
        with self._lock:
            return self._rules.add(members).described()

    def clear_faults(self, criteria: Mapping[str, str]) -> int:
        """Deletes rules; says how many."""
        with self._lock:
            return self._rules.remove(criteria)

    def faults(self) -> list[dict[str, Any]]:
        """The rules in force."""
        with self._lock:
            return [rule.described() for rule in self._rules.in_force()]

    def statement(self) -> dict[str, Any]:
        """The books for an oracle. `count` and `totals` are money that left: no declined payment."""
        with self._lock:
            payments = self._books.payments()
            return {
                "payments": [self._line(payment) for payment in payments],
                "count": sum(payment.status == SUCCEEDED for payment in payments),
                "totals": self._books.totals(),
                "calls": [asdict(call) for call in self._calls],
            }

    def close(self) -> None:
        """Waits for a booking in progress, then closes the books; who comes later waits in vain."""
        self._lock.acquire()  # never released: the process ends next
        self._books.close()

    def _line(self, payment: Payment) -> dict[str, Any]:
        calls = self._asked[payment.reference]
        return answers.resource(payment) | {"narration": payment.narration, "calls": calls}

    def _arrived(self, order: Order, call: Call) -> Fault:
        call.reference = order.reference
        self._asked[order.reference] += 1
        if self._books.find(order.reference):
            return Fault()
        fault = self._rules.for_payment(order, call=self._asked[order.reference])
        call.fault = "" if fault.kind is Kind.OK else fault.kind
        return fault

    def _decide(self, order: Order, fault: Fault) -> Answer:
        answer = self._repeated(order) or self._first(order, fault)
        return answer.later(self._delay)

    def _repeated(self, order: Order) -> Answer | None:
        earlier = self._books.find(order.reference)
        if earlier is None:
            return None
        if earlier.is_what_was_asked(order):
            return answers.payment(earlier, replayed=True)
        return answers.error(
            409, "reference_conflict", "This reference belongs to a payment with other content."
        )

    def _first(self, order: Order, fault: Fault) -> Answer:
        if not fault.books:
            return _unbooked(fault)
        booked = self._books.book(order, declined=fault.kind is Kind.DECLINE)
        match fault.kind:
            case Kind.ACCEPT_THEN_RESET:
                return answers.RESET
            case Kind.STATUS:
                return _unbooked(fault)
            case Kind.HANG:
                return answers.payment(booked, replayed=False).later(fault.seconds)
            case _:
                return answers.payment(booked, replayed=False)


def _unbooked(fault: Fault) -> Answer:
    if fault.kind is Kind.LOSE_REQUEST:
        return answers.RESET
    if fault.kind is Kind.REFUSE:
        return answers.error(
            503, fault.type, "Nothing was begun. Send the same request again later."
        )
    if fault.body is not None:
        return Answer(
            status=fault.code, body=fault.body.encode(errors="replace"), content_type="text/plain"
        )
    return answers.error(fault.code, fault.type, "An answer that a test asked for.")
