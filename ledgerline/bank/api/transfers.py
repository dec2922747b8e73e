"""POST and GET /v1/transfers."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import Http404
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import idempotency
from idempotency.openapi import problem_responses
from idempotency.responses import http_response
from ledgerline.bank import answers, confirmations, errors, transfers, waiting
from ledgerline.bank.api import pages, schema
from ledgerline.bank.api.orders import OrderFields
from ledgerline.bank.models import Transfer

if TYPE_CHECKING:
    from idempotency import Claim

_REFUSALS = (
    *schema.ORDER_REFUSALS,
    "confirmation_required",
    "token_unknown",
    "token_expired",
    "token_mismatch",
    "token_used",
    "insufficient_balance",
    "account_frozen",
    "user_frozen",
    "transfer_failed",
    "transfer_cancelled",
)
_NOT_CANCELLED = problem_responses(
    "unauthenticated", "forbidden", "not_found", "not_acceptable", "not_cancellable", "unavailable"
)


class Transfers(APIView):
    """A customer's transfers."""

    @extend_schema(
        request=OrderFields,
        parameters=[schema.PREFER, schema.CONFIRMATION_TOKEN],
        responses={
            201: schema.TRANSFER,
            202: schema.TRANSFER,
            **problem_responses(*schema.EDGES, *_REFUSALS),
        },
    )
    @idempotency.idempotent(mode="atomic", progress="progress")
    def post(self, request: Request) -> HttpResponseBase:
        """Pay: 201 when the money has moved, 202 when another bank still has to take it."""
        claim: Claim = request.idempotency  # type: ignore[attr-defined]  # set by the decorator
        try:
            transfer = _made(request, claim)
        except errors.MadeBefore:
            return _answer_again(claim, request)
        if transfer.state == Transfer.State.PENDING:
            return _accepted(transfer, claim, request)
        return http_response(answers.created(transfer))

    def progress(self, request: Request, record: Any) -> idempotency.Progress:
        """The open transfer, for the 409 that a retry gets meanwhile."""
        transfer = transfers.find(record.reference)
        if transfer is None:
            return idempotency.Progress(members={}, headers={}, retry_after=1)
        return idempotency.Progress(
            members={"transfer_id": str(transfer.pk), "state": str(transfer.state)},
            headers={"Location": answers.location(transfer)},
            retry_after=answers.retry_after(transfer),
        )

    @extend_schema(
        operation_id="transfers_list",
        parameters=[schema.REFERENCE, schema.LIMIT, schema.AFTER],
        responses={200: schema.TRANSFERS},
    )
    def get(self, request: Request) -> Response:
        """Your transfers, newest first; `?reference=` finds the one of a key."""
        rows = _own(request).order_by("-created_at", "-id")
        if "reference" in request.query_params:
            rows = rows.filter(reference=request.query_params["reference"])
        if "after" in request.query_params:
            rows = _older(rows, _own(request), request.query_params["after"])
        found, following = pages.page(rows, request=request)
        shown = [answers.represent(transfer) for transfer in found]
        return Response(pages.listed("transfers", shown, following=following))


class OneTransfer(APIView):
    """One transfer: the truth about it at this moment."""

    @extend_schema(responses={200: schema.TRANSFER})
    def get(self, request: Request, pk: UUID) -> Response:
        """Yours only; anybody else's is not found."""
        return Response(answers.represent(_mine(request, pk)))


class Cancellation(APIView):
    """Taking one transfer back. It needs no key: a second time changes nothing."""

    @extend_schema(request=None, responses={200: schema.TRANSFER, **_NOT_CANCELLED})
    def post(self, request: Request, pk: UUID) -> HttpResponseBase:
        """200 if nothing was ever sent, also when it is cancelled already; else 409."""
        transfer = _mine(request, pk)
        try:
            cancelled = transfers.cancel(transfer, actor=f"user:{request.user.pk}")
        except errors.NotCancellable:
            return http_response(answers.not_cancellable(_mine(request, pk)))
        return Response(answers.represent(cancelled))


def _made(request: Request, claim: "Claim") -> Transfer:
    with transfers.unless_made(claim, APIException):
        order = OrderFields(data=request.data).order()
        confirmations.require(order, claim=claim, token=request.headers.get("Confirmation-Token"))
    return transfers.make(order, claim=claim)


def _accepted(transfer: Transfer, claim: "Claim", request: Request) -> HttpResponseBase:
    """202; or, if the client would rather wait a little, what comes of it in that time."""
    provisional = http_response(answers.accepted(transfer))
    seconds = waiting.preferred(request.headers.get("Prefer", ""))
    if not seconds:
        return claim.defer(provisional)

    def wait() -> HttpResponseBase | None:
        waited = waiting.for_outcome(transfer.pk, seconds=seconds)
        if waited is waiting.Waited.NOT_AT_ALL:
            return None
        decided = waited is waiting.Waited.DECIDED
        answer = idempotency.answer_of(claim.scope, claim.key) if decided else None
        response = provisional if answer is None else http_response(answer)
        response["Preference-Applied"] = f"wait={seconds}"
        return response

    return claim.defer(provisional, then=wait)


def _answer_again(claim: "Claim", request: Request) -> HttpResponseBase:
    """The key's row is gone, the transfer is not: its answer, never a second payment.

    Locked, because a verdict at this moment would find no key to complete, and the one that we
    are about to defer would stay open for ever.
    """
    earlier = transfers.locked(claim.reference)
    if earlier.state != Transfer.State.PENDING:
        raise idempotency.AlreadyApplied(answers.final(earlier), earlier.request_hash)
    if earlier.request_hash != claim.fingerprint_like(earlier.request_hash):
        raise idempotency.AlreadyApplied(answers.accepted(earlier), earlier.request_hash)
    return _accepted(earlier, claim, request)


def _mine(request: Request, pk: UUID) -> Transfer:
    transfer = _own(request).filter(pk=pk).first()
    if transfer is None:
        raise Http404
    return transfer


def _own(request: Request) -> QuerySet[Transfer]:
    return Transfer.objects.filter(user=request.user.pk).select_related("from_account")


def _older(rows: QuerySet[Transfer], own: QuerySet[Transfer], after: str) -> QuerySet[Transfer]:
    try:
        last = own.filter(pk=UUID(after)).first()
    except ValueError:
        last = None
    if last is None:
        raise pages.bad_after()
    return rows.filter(
        Q(created_at__lt=last.created_at) | Q(created_at=last.created_at, id__lt=last.pk)
    )
