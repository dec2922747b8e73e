"""Payments: the provider's event pays for airtime, and a dying web process opens one checkout."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx2
import psutil  # type: ignore[import-untyped]

from ledgerline.demo.check import taps
from ledgerline.demo.check.phone import Phone, new_key
from ledgerline.demo.check.stalls import At, stalled, wait_for
from ledgerline.demo.check.system import System, connections

DELIVERIES = 30
PHONE = "+2348012345678"
CLAIM = "demo-check-i-"  # keys whose statements are held

_AIRTIME = """
SELECT reference, state FROM fulfilment WHERE payment_id = 'payment:' || %(reference)s
"""
_EVENTS = """
SELECT count(*) AS n FROM provider_event WHERE reference = %(reference)s
"""
_PAYMENTS = "SELECT count(*) AS n FROM bank_payment WHERE reference = %(reference)s"


@dataclass(frozen=True, slots=True)
class Boundary:
    """Where the handler is when it is killed: a statement, or None for the call itself."""

    name: str
    at: At | None


BOUNDARIES = (
    Boundary("claim", At("idempotency_keys", "INSERT", f"NEW.key LIKE '{CLAIM}%'")),
    Boundary(
        "mark",
        At(
            "idempotency_keys",
            "UPDATE OF sent_at",
            f"NEW.key LIKE '{CLAIM}%' AND NEW.sent_at IS NOT NULL",
        ),
    ),
    Boundary("call", None),
    Boundary(
        "settling",
        At(
            "idempotency_keys",
            "UPDATE OF status",
            f"NEW.key LIKE '{CLAIM}%' AND NEW.status <> 'in_progress'",
        ),
    ),
)


def one_event_thirty_times(system: System) -> str:
    """One event, delivered 30 times at once: one row, one fulfilment, one airtime at the provider."""
    with _phone(system) as phone:
        opened = taps.paid(phone.until_final(_body(), key=new_key()))
        payment = json.loads(opened.body)
        httpx2.post(f"{payment['checkoutUrl']}/pay", timeout=10).raise_for_status()
        statuses = _deliver(system, payment["reference"])
        assert statuses == [200] * DELIVERIES, f"the provider was answered {statuses}"
        wait_for(
            lambda: phone.get(f"/v1/payments/{payment['id']}")["state"] == "fulfilled",
            "the payment was made and its airtime never came",
        )
    airtime = system.rows(_AIRTIME, reference=payment["reference"])
    assert len(airtime) == 1, f"{len(airtime)} fulfilments for one payment"
    events = system.rows(_EVENTS, reference=payment["reference"])[0]["n"]
    assert events == 1, f"{events} rows for one event"
    booked = system.books().get(airtime[0]["reference"])
    assert booked, "the provider has no such airtime"
    assert booked["status"] == "succeeded", f"the provider says {booked['status']}"
    return f"{DELIVERIES} x 200, one event on record, one airtime at the provider"


def a_dying_web_process(system: System) -> str:
    """The leased handler is killed at each of its boundaries: one checkout each."""
    dead = [(boundary, *_died(system, boundary)) for boundary in BOUNDARIES]
    for boundary, key, body in dead:
        _one_checkout(system, boundary, key, body)
    names = ", ".join(boundary.name for boundary in BOUNDARIES)
    return f"killed at {names}: each retry got its 201, one checkout each"


def _died(system: System, boundary: Boundary) -> tuple[str, dict[str, Any]]:
    """The key and the body of a request whose web process was killed at the boundary."""
    key, body = f"{CLAIM}{new_key()}", _body(narration="" if boundary.at else "sandbox:hang(2)")
    with _phone(system) as phone:
        _die(system, boundary, lambda: _sent(phone, body, key))
    return key, body


def _one_checkout(system: System, boundary: Boundary, key: str, body: dict[str, Any]) -> None:
    with _phone(system) as phone:
        final = taps.paid(phone.until_final(body, key=key))
    reference = json.loads(final.body)["reference"]
    checkouts = len(system.checkouts(reference))
    assert checkouts == 1, f"killed at {boundary.name}: {checkouts} checkouts at the provider"
    payments = system.rows(_PAYMENTS, reference=reference)[0]["n"]
    assert payments == 1, f"killed at {boundary.name}: {payments} payments on record"


def _die(system: System, boundary: Boundary, send: Callable[[], None]) -> None:
    """Send, and kill the web process that serves it where the boundary says."""
    with ThreadPoolExecutor(1) as pool:
        if boundary.at is None:
            sent = pool.submit(send)
            wait_for(lambda: _caller(system), "no web process called the provider")
            _caller(system)[0].kill()
        else:
            with stalled(system, boundary.at) as stall:
                sent = pool.submit(send)
                stall.kill("web")
        sent.result(timeout=60)


def _caller(system: System) -> list[psutil.Process]:
    """The web processes that are in a call to the provider."""
    port = int(system.sandbox_url.rpartition(":")[2])
    return [
        process
        for process in system.processes("web")
        if any(end.raddr and end.raddr.port == port for end in connections(process))
    ]


def _sent(phone: Phone, body: dict[str, Any], key: str) -> None:
    """One try whose answer may never come."""
    try:
        phone.send(body, key=key)
    except httpx2.TransportError:
        return


def _deliver(system: System, reference: str) -> list[int]:
    """Deliver the payment's event many times at once; the answers it got."""

    def events() -> list[dict[str, Any]]:
        listed = httpx2.get(f"{system.sandbox_url}/events", timeout=10).json()
        return [event for event in listed if event["data"]["reference"] == reference]

    wait_for(events, "the provider made no event of the payment")
    url = f"{system.sandbox_url}/events/{events()[0]['id']}/deliver"
    return list(httpx2.post(url, params={"times": DELIVERIES}, timeout=60).json())


def _phone(system: System) -> Phone:
    phone = taps.phone(system)
    phone.path, phone.patience = "/v1/payments", 90.0
    return phone


def _body(narration: str = "") -> dict[str, Any]:
    body = {"amount": 5000, "currency": "NGN", "phone": PHONE}
    return body | ({"narration": narration} if narration else {})
