"""POST /v1/transfer-confirmations: for the moment in which the confirm screen opens."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from idempotency.openapi import problem_responses
from ledgerline.bank import confirmations
from ledgerline.bank.answers import written_at
from ledgerline.bank.api import schema
from ledgerline.bank.api.orders import OrderFields
from ledgerline.bank.money import masked, masked_name

_PROBLEMS = problem_responses(
    *schema.EDGES, *schema.ORDER_REFUSALS, "body_invalid", "unauthenticated", "unavailable"
)


class Confirmations(APIView):
    """Tokens for transfers. It needs no key: a second one does no harm, both expire unused.

    And it must have none: a stored answer would keep the token where it can be read.
    """

    @extend_schema(request=OrderFields, responses={201: schema.CONFIRMATION, **_PROBLEMS})
    def post(self, request: Request) -> Response:
        """The body is that of the transfer to come; the narration may still change."""
        order = OrderFields(data=request.data).order()
        shown = _represent(confirmations.open_for(request, order))
        return Response(shown, status=201, headers={"Cache-Control": "no-store"})


def _represent(given: confirmations.Confirmation) -> dict[str, Any]:
    order, payee = given.order, given.payee
    name = payee.owner.get_full_name() if payee is not None and payee.owner is not None else ""
    return {
        "token": given.issued.token,
        "expiresAt": written_at(given.issued.expires_at),
        "amount": order.amount,
        "currency": order.currency,
        "fromAccount": masked(given.sender.number),
        "toAccount": masked(order.to_account),
        "toBank": order.to_bank or None,
        "payeeName": masked_name(name) or None,
    }
