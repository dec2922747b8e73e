"""Nobody knows whether it was paid: the provider is asked, or a person decides."""

import json
import time

from ledgerline.demo.check import books, taps
from ledgerline.demo.check.desk import Desk
from ledgerline.demo.check.phone import Phone, Seen, new_key
from ledgerline.demo.check.system import System

VERDICT = "fulfilled"
EVIDENCE = "bank statement 0042/7"


def a_lost_answer(system: System) -> str:
    """The provider books the payment and drops the line: found by look-up, the phone gets 201."""
    narration = f"demo-check c {new_key()[:8]} sandbox:accept_then_reset sandbox:no_webhook"
    key, body = new_key(), taps.external(system, amount=4321, narration=narration)
    started = time.monotonic()
    with taps.phone(system) as phone:
        taps.taken(phone.send(body, key=key))
        final = taps.paid(phone.until_final(body, key=key))
    took = time.monotonic() - started
    reference = json.loads(final.body)["reference"]
    books.paid_once(system, reference, calls=1)
    said = books.said(system, reference)
    assert ("lookup", "done") in said, f"no look-up found it; what was said: {said}"
    return f"202, answer lost, found by look-up, 201 after {took:.1f} s; paid once"


def a_case_for_a_person(system: System) -> str:
    """The look-up is out too: a case opens, staff resolve it in the admin, the phone gets it."""
    mark = f"demo-check d {new_key()[:8]}"
    narration = f"{mark} sandbox:accept_then_reset sandbox:no_webhook"
    key, body = new_key(), taps.external(system, amount=999, narration=narration)
    system.set_fault(fault="lookup_outage", times=None, match={"narration": mark})
    with taps.phone(system) as phone:
        try:
            reference = _reference_at(phone, taps.taken(phone.send(body, key=key)))
            case = books.wait_for_case(system, reference)
            _decide(system, case["fulfilment_id"])
        finally:
            system.end_faults(narration=mark)
        taps.paid(phone.until_final(body, key=key))
    books.paid_once(system, reference, calls=1)
    actor = books.last_actor(system, reference)
    assert actor == "staff:senior", f"the verdict is on record as {actor}'s, not as its giver's"
    told = f"case ({case['reason']}), resolved by {actor} in the admin"
    return f"no answer, no look-up: {told}, phone got 201; paid once"


def _decide(system: System, fulfilment_id: int) -> None:
    with Desk(system.base_url) as desk:
        desk.sign_in("senior", system.staff["senior"]["password"])
        desk.resolve(fulfilment_id, verdict=VERDICT, evidence_reference=EVIDENCE)


def _reference_at(phone: Phone, first: Seen) -> str:
    assert first.location, "a 202 names its resource in Location"
    return str(phone.get(first.location)["reference"])
