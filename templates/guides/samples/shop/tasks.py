"""The same as a Celery task. Celery may deliver it twice; it calls the courier once."""

from typing import Any

from celery import shared_task

from idempotency import NothingHappened, gated

from . import courier
from .models import Order


@shared_task(autoretry_for=(NothingHappened,), retry_backoff=True, max_retries=8)
@gated("order.recall", target="order_id")  # below @shared_task; not the id of the task
def recall(order_id: int) -> dict[str, Any]:
    return courier.recall(Order.objects.get(pk=order_id).parcel)
