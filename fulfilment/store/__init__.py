"""The statements that the ORM does not say, each with its intent. All by the database's clock.

One module for each thing they are about; they are called as `store.lock(…)`, `store.mark_sent(…)`.
"""

from fulfilment.store.attempts import LOST, close, close_doubted, close_expired, mark_sent
from fulfilment.store.bodies import (
    DELETE_OF_EVENTS,
    DELETE_OF_EVIDENCE,
    EMPTY_CONFLICTS,
    take_bodies,
)
from fulfilment.store.clock import now
from fulfilment.store.events import insert_conflict, insert_event, lock_event
from fulfilment.store.locks import lock, lock_payment, lock_unless_taken
from fulfilment.store.pulses import pulse
from fulfilment.store.rounds import alone, take_due_lookup
from fulfilment.store.turns import busy_connectors, take_turn

__all__ = [
    "DELETE_OF_EVENTS",
    "DELETE_OF_EVIDENCE",
    "EMPTY_CONFLICTS",
    "LOST",
    "alone",
    "busy_connectors",
    "close",
    "close_doubted",
    "close_expired",
    "insert_conflict",
    "insert_event",
    "lock",
    "lock_event",
    "lock_payment",
    "lock_unless_taken",
    "mark_sent",
    "now",
    "pulse",
    "take_bodies",
    "take_due_lookup",
    "take_turn",
]
