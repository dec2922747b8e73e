"""An action that is no request: a parcel is called back once, whoever wants it how often."""

from typing import Any

from idempotency import gate

from . import courier
from .models import Order


def recall(order: Order) -> Any:
    """What the courier said, now or the first time.

    Raises gate.InProgress, gate.Held and gate.Closed; and whatever ends the call.
    """
    try:
        with gate.claim("order.recall", target=order.pk) as action:
            if not order.parcel:
                action.release()  # nothing was done, so the next caller may
                return None
            return action.settle(courier.recall(order.parcel))
    except gate.AlreadySettled as earlier:
        return earlier.result
