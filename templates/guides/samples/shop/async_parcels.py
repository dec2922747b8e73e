"""The same, awaited. In a project with ATOMIC_REQUESTS add, above the class:

@method_decorator(transaction.non_atomic_requests, name="dispatch")
"""

import json

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.views import View

from idempotency import idempotent, leased_claim_of

from . import courier
from .parcels import ask, placed


class AsyncParcels(View):
    @idempotent(mode="leased", operation="shop.parcel_async", recover=ask)
    async def post(self, request: HttpRequest) -> HttpResponse:
        claim = leased_claim_of(request)
        sku = json.loads(request.body)["sku"]
        await claim.asending()
        book = sync_to_async(courier.book, thread_sensitive=False)  # or an async client of yours
        found = await book(claim.reference, sku=sku, deadline=claim.deadline)
        return claim.settle_with(lambda: placed(found))  # runs after the last await
