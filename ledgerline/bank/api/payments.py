"""POST and GET /v1/payments."""

from typing import TYPE_CHECKING
from uuid import UUID

from django.http import Http404
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import idempotency
from idempotency.openapi import problem_responses
from idempotency.responses import http_response
from ledgerline.bank import payments, receipts
from ledgerline.bank.api import schema
from ledgerline.bank.api.orders import PaymentFields
from ledgerline.bank.models import Payment

if TYPE_CHECKING:
    from idempotency import LeasedClaim

_REFUSALS = ("currency_unsupported", "limit_exceeded", "user_frozen", "checkout_declined")


class Payments(APIView):
    """A customer's payments to the bank, for airtime."""

    @extend_schema(
        request=PaymentFields,
        responses={201: schema.PAYMENT, **problem_responses(*schema.EDGES, *_REFUSALS)},
    )
    @idempotency.idempotent(mode="leased", recover=payments.recover)
    def post(self, request: Request) -> HttpResponseBase:
        """Open a checkout: 201 with the address at which to pay; 202 if it is not known whether."""
        claim: LeasedClaim = request.idempotency  # type: ignore[attr-defined]  # set by the decorator
        payments.refuse_made(claim)
        order = PaymentFields(data=request.data).order()
        payments.refuse(order, claim=claim)
        claim.sending()
        checkout = payments.open_checkout(order, reference=claim.reference, deadline=claim.deadline)
        with claim.settling():
            payment = payments.record(order, checkout, claim=claim)
            return http_response(receipts.opened(payment))


class OnePayment(APIView):
    """One payment: the truth about it at this moment."""

    @extend_schema(responses={200: schema.PAYMENT})
    def get(self, request: Request, pk: UUID) -> Response:
        """Yours only; anybody else's is not found."""
        payment = Payment.objects.filter(user=request.user.pk, pk=pk).first()
        if payment is None:
            raise Http404
        return Response(receipts.represent(payment))
