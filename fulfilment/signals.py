"""What happened to fulfilments, for whoever counts, mails or traces: never for the outcome itself.

Sent after the commit, once per process that made it happen; a receiver that raises is logged and
spoils nothing. A process that dies between its commit and the sending sends nothing: what must not
be missed belongs into the kind's `Handlers`, which run in the transaction.
"""

from functools import partial
from typing import Any

from django.db import transaction
from django.dispatch import Signal

# A fulfilment is in a new state. `sender` is its kind; `reference`, `payment_id`, `before`, `after`,
# `reason`, `actor` are texts, `generation` and `version` numbers. What a row only passes through on
# its way to a verdict of the same transaction is journalled and not sent.
fulfilment_moved = Signal()

# A case was opened, so a person is asked. `sender` is the kind; `reference`, `reason` (a
# `CaseReason`) and `actor` are texts, `case` its number.
case_opened = Signal()


def after_commit(signal: Signal, *, sender: str, **said: Any) -> None:
    """Send `signal` once the transaction that is under way has committed; never if it does not."""
    transaction.on_commit(partial(signal.send_robust, sender=sender, **said), robust=True)
