"""What keeps a claimed row from being sent after all. The first code of its connector runs here."""

from dataclasses import replace

from fulfilment.connectors import registry
from fulfilment.connectors.base import NotSent
from fulfilment.connectors.missing import Missing
from fulfilment.dispatch.claim import Claimed
from fulfilment.reconcile import policy
from fulfilment.reconcile.reading import rules_under

_TOO_LATE = "it waited until the provider may have forgotten its reference"
_PAID_BEFORE = "an earlier reference of this payment was paid after all"


def bar_of(claimed: Claimed) -> NotSent | None:
    """Why no call may be made, as the end of an attempt that was never marked; None: it may.

    Judged as the row was when it was claimed: its own attempt, open, would count as sent.
    """
    connector = registry.connector(claimed.fulfilment.connector)
    if isinstance(connector, Missing):
        return NotSent(reason=connector.reason)
    situation = replace(claimed.before, rules=rules_under(connector.capabilities))
    if policy.may_send(situation):
        return None
    return NotSent(reason=_PAID_BEFORE if situation.paid_before else _TOO_LATE)
