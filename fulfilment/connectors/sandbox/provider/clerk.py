"""Decides what is booked and what is answered. Not thread-safe: the desk's lock guards every call."""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from fulfilment.connectors.sandbox.provider import answers, events, payment
from fulfilment.connectors.sandbox.provider.answers import Answer
from fulfilment.connectors.sandbox.provider.books import Books
from fulfilment.connectors.sandbox.provider.calls import Call
from fulfilment.connectors.sandbox.provider.events import Event
from fulfilment.connectors.sandbox.provider.faults import Fate, Fault, Kind
from fulfilment.connectors.sandbox.provider.order import Order
from fulfilment.connectors.sandbox.provider.payment import Payment
from fulfilment.connectors.sandbox.provider.rules import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What follows from a call: an answer, what was booked for it and what is reported of that."""

    answer: Answer
    booked: Payment | None = None
    news: tuple[Event, ...] = ()
    wait: float | None = None  # seconds to wait until the news arrived, before the answer


class Clerk:
    """Looks into the books, applies the rules, and books."""

    def __init__(self, books: Books, rules: Rules, *, url: str, seed: str) -> None:
        """`url`: where the provider listens. `seed` goes into the ids."""
        self._books = books
        self._rules = rules
        self._url = url
        self._seed = seed
        self._asked: Counter[tuple[str, str]] = Counter()

    def receive(self, order: Order, call: Call) -> Fate:
        """Counts the call and says what befalls it; a reference that is known meets no new fault."""
        call.reference = order.reference
        name = (order.kind, order.reference)
        self._asked[name] += 1
        if self._books.is_spoiled(*name):
            call.fault = Kind.CACHED_500
            return Fate()
        if self._books.find(*name):
            return Fate()
        fate = self._rules.for_payment(order, call=self._asked[name])
        met = (fault.kind for fault in (fate.fault, *fate.traits))
        call.fault = ", ".join(kind for kind in met if kind is not Kind.OK)
        return fate

    def decide(self, order: Order, fate: Fate) -> Decision:
        """Books it, unless that was done before or the fault is that it is not. Raises OSError."""
        if self._books.is_spoiled(order.kind, order.reference):
            return Decision(answer=answers.unbooked(Fault(kind=Kind.CACHED_500)))
        if earlier := self._books.find(order.kind, order.reference):
            return Decision(answer=self._repeated(earlier, order))
        return self._first(order, fate)

    def change(self, booked: Payment, *, status: str) -> Decision:
        """Books that it has another status from now on. Raises OSError."""
        changed = replace(booked, status=status)
        news = self._enter(changed, now=datetime.now(UTC))
        return Decision(answer=answers.found(changed, url=self._url), booked=changed, news=news)

    def times_asked(self, booked: Payment) -> int:
        """How often this process was asked for it."""
        return self._asked[booked.kind, booked.reference]

    def _repeated(self, earlier: Payment, order: Order) -> Answer:
        if earlier.is_what_was_asked(order):
            return answers.payment(earlier, url=self._url, replayed=True)
        return answers.error(
            409, "reference_conflict", "This reference belongs to a payment with other content."
        )

    def _first(self, order: Order, fate: Fate) -> Decision:
        fault = fate.fault
        if fault.kind is Kind.CACHED_500:
            self._books.spoil(order.kind, order.reference)
        if not fault.books:
            return Decision(answer=answers.unbooked(fault))
        now = datetime.now(UTC)
        booked = payment.of(order, fate=fate, now=now, seed=self._seed)
        news = self._enter(booked, now=now)
        wait = fault.seconds if fault.kind is Kind.WEBHOOK_FIRST else None
        return Decision(answer=self._answer(booked, fault), booked=booked, news=news, wait=wait)

    def _answer(self, booked: Payment, fault: Fault) -> Answer:
        answer = answers.payment(booked, url=self._url, replayed=False)
        match fault.kind:
            case Kind.ACCEPT_THEN_RESET:
                return answers.RESET
            case Kind.STATUS | Kind.CACHED_500:
                return answers.unbooked(fault)
            case Kind.HANG:
                return answer.later(fault.seconds)
            case _:
                return answer

    def _enter(self, booked: Payment, *, now: datetime) -> tuple[Event, ...]:
        news = events.of(booked, at=now.isoformat(), seed=self._seed)
        self._books.enter(booked, news)
        return news
