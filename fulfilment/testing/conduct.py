"""How the fake behaves: what an order does to its books, and what it says of them."""

import json
from typing import Any

from fulfilment.connectors.base import (
    Accepted,
    Capabilities,
    Declined,
    Dedupe,
    Done,
    Instruction,
    LookUp,
    NoInformation,
    NotFound,
    NotSent,
    Outcome,
    Refused,
    Reversed,
    Unknown,
)
from fulfilment.testing.books import STANDINGS, Fact, Page

_REASON = "a test told it so"
_BECOMES = {"declined": "declined", "accepted": "accepted"}  # every other word that arrives: paid


def take(page: Page, order: Instruction, *, word: str, promises: Capabilities) -> Outcome:
    """Do with an order what the word says. One that it recognises is not carried out again."""
    match word:
        case "not_sent":
            return NotSent(reason=_REASON)
        case "refused":
            return Refused(reason=_REASON)
        case "request_lost" | "raises":
            return Unknown(reason="no answer: the order was lost")
    if not _recognised(page, order.reference, promises):
        carry_out(page, order.reference, _BECOMES.get(word, "paid"), order.amount, order.currency)
    return _outcome(page, order, lost=word == "answer_lost")


def carry_out(page: Page, reference: str, becomes: str, amount: int, currency: str) -> Fact:
    """Write what became of an order; `amount` in minor units."""
    number = len(page.of(*STANDINGS)) + 1
    return page.write(
        becomes, reference=reference, amount=amount, currency=currency, id=f"fake_{number}"
    )


def see(page: Page, reference: str, *, promises: Capabilities) -> LookUp:
    """What a look-up finds on the books."""
    if not promises.lookup_by_reference:
        return NoInformation(reason="it cannot be asked by reference")
    until = page.now - promises.visible_after.total_seconds()
    seen = [fact for fact in page.of(*STANDINGS, reference=reference) if fact["at"] <= until]
    return _answer(seen[-1]) if seen else NotFound(body=b"{}")


def say(page: Page, reference: str, *, word: str) -> LookUp:
    """What a look-up says because a test told it so, whatever is on the books."""
    match word:
        case "done":
            order = page.order(reference)
            return Done(amount=order["amount"], currency=order["currency"], status="paid")
        case "not_done":
            return Declined(reason=_REASON, status="declined")
        case "in_progress":
            return Accepted(status="accepted")
        case "not_found":
            return NotFound(body=b"{}")
        case _:
            return NoInformation(reason=_REASON)


def _recognised(page: Page, reference: str, promises: Capabilities) -> bool:
    """Does it know that it has had this order before?"""
    earlier = page.of(*STANDINGS, reference=reference)
    if not earlier or promises.dedupe is Dedupe.NONE:
        return False
    window = promises.dedupe_window
    return window is None or page.now < earlier[0]["at"] + window.total_seconds()


def _outcome(page: Page, order: Instruction, *, lost: bool) -> Outcome:
    fact = page.of(*STANDINGS, reference=order.reference)[-1]
    if (fact["amount"], fact["currency"]) != (order.amount, order.currency):
        return Unknown(reason="the reference is known with another amount")
    return Unknown(reason="no answer: it was lost on its way") if lost else _answer(fact)


def _answer(fact: Fact) -> Done | Reversed | Declined | Accepted:
    word = fact["fact"]
    body = json.dumps({"reference": fact["reference"], "status": word}).encode()
    match word:
        case "paid":
            return Done(status=word, body=body, **_booked(fact))
        case "given_back":
            return Reversed(status=word, body=body, **_booked(fact))
        case "declined":
            return Declined(reason="the order was declined", status=word, body=body)
        case _:
            return Accepted(status=word, body=body)


def _booked(fact: Fact) -> dict[str, Any]:
    return {"amount": fact["amount"], "currency": fact["currency"], "provider_id": fact["id"]}
