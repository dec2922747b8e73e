"""Finds due rows of which no worker heard: a broker that was down or emptied loses nothing."""

from fulfilment import store
from fulfilment.conf import conf
from fulfilment.models import Fulfilment
from fulfilment.states import State


def due() -> list[int]:
    """Ids of rows that wait to be sent and are due, the longest waiting first."""
    rows = Fulfilment.objects.filter(state=State.PENDING, next_check_at__lte=store.now())
    return list(rows.order_by("next_check_at").values_list("pk", flat=True)[: conf().batch])
