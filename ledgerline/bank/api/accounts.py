"""GET /v1/accounts and their entries."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ledgerline.bank.answers import written_at
from ledgerline.bank.api import pages, schema
from ledgerline.bank.models import Account, Entry
from ledgerline.bank.money import EXPONENTS


class Accounts(APIView):
    """Your accounts, oldest first, with their full numbers: they are yours."""

    @extend_schema(responses={200: schema.ACCOUNTS})
    def get(self, request: Request) -> Response:
        """Balance, what is held and what can be spent, in minor units."""
        own = Account.objects.filter(owner=request.user.pk).order_by("pk")
        return Response({"accounts": [_account(account) for account in own]})


class Entries(APIView):
    """What moved on one of your accounts, newest first."""

    @extend_schema(parameters=[schema.LIMIT, schema.AFTER], responses={200: schema.ENTRIES})
    def get(self, request: Request, number: str) -> Response:
        """Positive amounts came in, negative ones went out."""
        account = Account.objects.filter(owner=request.user.pk, number=number).first()
        if account is None:
            raise Http404
        rows = account.entries.select_related("posting").order_by("-id")
        if "after" in request.query_params:
            rows = rows.filter(id__lt=pages.row_id(request.query_params["after"]))
        found, following = pages.page(rows, request=request)
        return Response(pages.listed("entries", [_entry(e) for e in found], following=following))


def _account(account: Account) -> dict[str, Any]:
    return {
        "number": account.number,
        "name": account.name,
        "currency": account.currency,
        "exponent": EXPONENTS[account.currency],
        "balance": account.balance,
        "held": account.held,
        "available": account.available,
        "frozen": account.frozen_at is not None,
        "openedAt": written_at(account.opened_at),
    }


def _entry(entry: Entry) -> dict[str, Any]:
    transfer = entry.posting.transfer_id
    return {
        "id": entry.pk,
        "amount": entry.amount,
        "currency": entry.currency,
        "kind": entry.posting.kind,
        "transfer": transfer and str(transfer),
        "postedAt": written_at(entry.posting.posted_at),
    }
