"""Workers that die or freeze at the worst moment: paid once each, and nobody guessed."""

import json
import time
from dataclasses import dataclass
from typing import Any

import psutil  # type: ignore[import-untyped]

from ledgerline.demo.check import books, taps
from ledgerline.demo.check.phone import Phone, new_key
from ledgerline.demo.check.stalls import At, stalled, wait_for
from ledgerline.demo.check.system import System

# Whose worker has a payment in hand, by what the payment says.
_WORKER = """
SELECT a.worker FROM fulfilment_attempt a JOIN fulfilment f ON f.id = a.fulfilment_id
 WHERE f.instruction->>'narration' = %(narration)s AND a.closed_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class Order:
    """One external transfer that something is about to happen to."""

    key: str
    body: dict[str, Any]

    def taken(self, phone: Phone) -> None:
        """Send it once; it must be taken."""
        taps.taken(phone.send(self.body, key=self.key))

    def settled(self, system: System, phone: Phone) -> str:
        """Its reference, once the phone has the final 201 and the provider paid once."""
        final = taps.paid(phone.until_final(self.body, key=self.key))
        reference = str(json.loads(final.body)["reference"])
        books.paid_once(system, reference, calls=1)
        return reference


def killed_workers(system: System) -> str:
    """`kill -9` before the mark, right after it, and in mid-call: paid once each."""
    with _patient(system) as phone:
        # the canary: without a payment that can be found, "not found" proves nothing
        _order(system, "demo-check f", amount=511).settled(system, phone)
        before = _killed_before_the_mark(system, phone)
        after = _killed_after_the_mark(system, phone)
        during = _killed_in_mid_call(system, phone)
        told = (
            f"before the mark: {_requeued(system, before.settled(system, phone))}",
            f"after it: {_sent_again(system, after.settled(system, phone))}",
            f"in mid-call: {_found(system, during.settled(system, phone))}",
        )
    return f"{'; '.join(told)}; paid once each"


def a_frozen_worker(system: System) -> str:
    """`SIGSTOP` past the lease, then `SIGCONT`: paid once, the late answer is kept as evidence."""
    order = _order(
        system, f"demo-check g {new_key()[:8]} sandbox:hang(2) sandbox:no_webhook", amount=515
    )
    with _patient(system) as phone:
        order.taken(phone)
        frozen = _caller(system, order)
        frozen.suspend()
        try:
            reference = order.settled(system, phone)
        finally:
            frozen.resume()
    dropped = "the late answer of the frozen worker was dropped"
    wait_for(lambda: _its_own_answer(system, reference), dropped)
    books.paid_once(system, reference, calls=1)
    late = _its_own_answer(system, reference)
    return f"taken over and settled by look-up; its late answer ({late}) is on record; paid once"


def _killed_before_the_mark(system: System, phone: Phone) -> Order:
    order = _order(system, f"demo-check f1 {new_key()[:8]}", amount=512)
    with stalled(system, _mark_of(order)) as stall:
        order.taken(phone)
        stall.kill("worker")
    return order


def _killed_after_the_mark(system: System, phone: Phone) -> Order:
    order = _order(system, f"demo-check f2 {new_key()[:8]}", amount=513)
    with stalled(system, _mark_of(order)) as stall:
        order.taken(phone)
        caught = stall.caught("worker")
        caught.suspend()  # its mark commits without it; the call is never made
        stall.let_through()
        time.sleep(0.3)
        caught.kill()
    return order


def _killed_in_mid_call(system: System, phone: Phone) -> Order:
    narration = f"demo-check f3 {new_key()[:8]} sandbox:hang(2) sandbox:no_webhook"
    order = _order(system, narration, amount=514)
    order.taken(phone)
    _caller(system, order).kill()
    return order


def _mark_of(order: Order) -> At:
    """`sent_at` is set right before the call; whoever is held there has claimed and not sent."""
    payment = "SELECT FROM fulfilment f WHERE f.id = NEW.fulfilment_id"
    own = f"{payment} AND f.instruction->>'narration' = '{order.body['narration']}'"
    return At("fulfilment_attempt", "UPDATE OF sent_at", f"EXISTS ({own})")


def _requeued(system: System, reference: str) -> str:
    said = books.said(system, reference)
    assert not any(source == "lookup" for source, _ in said), f"nothing was sent, yet: {said}"
    return "requeued without a look-up"


def _sent_again(system: System, reference: str) -> str:
    said = books.said(system, reference)
    absent = said.count(("lookup", "not_found"))
    assert absent >= 3, f"sent again after {absent} look-ups: a guess; what was said: {said}"
    return f"unknown, {absent} x not found, sent again"


def _found(system: System, reference: str) -> str:
    said = books.said(system, reference)
    assert ("lookup", "done") in said, f"no look-up found it; what was said: {said}"
    return "found by look-up"


def _caller(system: System, order: Order) -> psutil.Process:
    """The worker process that is in the call, once the provider has booked the payment."""
    narration = order.body["narration"]

    def booked() -> bool:
        return any(p["narration"] == narration for p in system.books().values())

    wait_for(booked, "the provider never got the call")
    holder = system.rows(_WORKER, narration=narration)
    assert holder, "nobody has the payment in hand any more"
    return psutil.Process(int(holder[0]["worker"].rpartition(":")[2]))


def _its_own_answer(system: System, reference: str) -> str:
    said = [finding for source, finding in books.said(system, reference) if source == "response"]
    return said[-1] if said else ""


def _order(system: System, narration: str, *, amount: int) -> Order:
    return Order(new_key(), taps.external(system, amount=amount, narration=narration))


def _patient(system: System) -> Phone:
    phone = taps.phone(system)
    phone.patience = 90.0
    return phone
