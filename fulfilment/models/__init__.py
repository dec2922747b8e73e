"""What is remembered of an external effect: the row, its attempts, what was said, who decided.

Constraints and triggers of the database enforce the rules; see `migrations/0002_guards.py`.
"""

from fulfilment.models.cases import Case, CaseAction
from fulfilment.models.connector import ConnectorStanding
from fulfilment.models.events import (
    WAITING,
    EventStatus,
    ProviderEvent,
    ProviderEventAction,
    ProviderEventConflict,
    ProviderEventPayload,
)
from fulfilment.models.evidence import Attempt, Evidence, Payload, Transition
from fulfilment.models.machine import Fulfilment, Reconciliation
from fulfilment.models.pulse import Pulse
from fulfilment.models.words import CaseReason, Finding, Source

__all__ = [
    "WAITING",
    "Attempt",
    "Case",
    "CaseAction",
    "CaseReason",
    "ConnectorStanding",
    "EventStatus",
    "Evidence",
    "Finding",
    "Fulfilment",
    "Payload",
    "ProviderEvent",
    "ProviderEventAction",
    "ProviderEventConflict",
    "ProviderEventPayload",
    "Pulse",
    "Reconciliation",
    "Source",
    "Transition",
]
