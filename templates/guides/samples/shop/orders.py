"""Atomic: the handler touches only the database."""

from django.db.models import F
from rest_framework.authentication import BasicAuthentication, SessionAuthentication
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from idempotency import Refusal, idempotent

from .models import Item, Order


class SoldOut(Refusal):
    """There are not that many left."""

    code = "sold_out"


class Orders(APIView):
    authentication_classes = [SessionAuthentication, BasicAuthentication]
    permission_classes = [IsAuthenticated]

    @idempotent(operation="shop.order")
    def post(self, request: Request) -> Response:
        sku, quantity = request.data["sku"], request.data["quantity"]
        order = Order.objects.create(sku=sku, quantity=quantity)
        enough = Item.objects.filter(sku=sku, left__gte=quantity)
        if not enough.update(left=F("left") - quantity):
            raise SoldOut(sku=sku)  # the order above is undone; this answer is stored
        return Response({"order": order.pk}, status=201)
