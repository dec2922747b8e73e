"""How the books' states are named on screens: as the queue of payments names them. Pure."""

from collections.abc import Mapping
from typing import Any

from fulfilment.admin.words import BADGES, Badge
from fulfilment.states import State
from ledgerline.bank.models import Hold, Payment, Transfer

TRANSFERS: Mapping[Any, Badge] = {
    Transfer.State.PENDING: Badge("Outcome open", "waiting"),
    Transfer.State.FULFILLED: BADGES[State.FULFILLED],
    Transfer.State.FAILED: BADGES[State.FAILED],
    Transfer.State.CANCELLED: BADGES[State.CANCELLED],
    Transfer.State.REVERSED: BADGES[State.REVERSED],
}
PAYMENTS: Mapping[Any, Badge] = {
    Payment.State.OPEN: Badge("No money heard of", "waiting"),
    Payment.State.PAID: Badge("Paid, airtime open", "waiting"),
    Payment.State.FULFILLED: Badge("Airtime delivered", "done"),
    Payment.State.REFUND_DUE: Badge("Refund due", "unknown"),
}
HOLDS: Mapping[Any, Badge] = {
    Hold.State.OPEN: Badge("Held", "waiting"),
    Hold.State.CAPTURED: BADGES[State.FULFILLED],
    Hold.State.RELEASED: Badge("Free again", "not-done"),
}
