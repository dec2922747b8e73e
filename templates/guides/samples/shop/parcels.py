"""Leased: the handler calls another system, outside any transaction."""

import json
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views import View

from idempotency import (
    Answer,
    Done,
    NotDone,
    Record,
    Recovery,
    Unknown,
    idempotent,
    leased_claim_of,
)

from . import courier
from .models import Order


def ask(record: Record) -> Recovery:
    """What became of a booking whose end nobody saw. It gets no request: the sweep asks as well."""
    try:
        found = courier.find(record.reference)
    except (OSError, ValueError):
        return Unknown("the courier cannot be asked")
    if found is None:
        return NotDone()  # only because the courier books a reference once: it may be sent again
    return Done(partial(_answered, found))  # called in the transaction that settles the key


class Parcels(View):
    @idempotent(mode="leased", operation="shop.parcel", recover=ask)
    def post(self, request: HttpRequest) -> HttpResponse:
        claim = leased_claim_of(request)
        sku = json.loads(request.body)["sku"]
        claim.sending()  # committed: from here on the courier may have heard of it
        found = courier.book(claim.reference, sku=sku, deadline=claim.deadline)
        with claim.settling():  # these writes and the stored answer: one transaction
            return placed(found)


def placed(found: dict[str, Any]) -> HttpResponse:
    answer = _answered(found)
    return HttpResponse(answer.body, status=answer.status, headers=dict(answer.headers))


def _answered(found: dict[str, Any]) -> Answer:
    order = Order.objects.create(sku=found["sku"], parcel=found["parcel"])
    body = json.dumps({"order": order.pk, "parcel": order.parcel})
    return Answer(201, (("Content-Type", "application/json"),), body.encode())
