"""POST and GET /v1/usage-events."""

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import idempotency
from idempotency.gate import Outcome, Verdict
from idempotency.openapi import problem_responses
from idempotency.responses import http_response
from ledgerline.bank import errors, usage
from ledgerline.bank.answers import json_answer, written_at
from ledgerline.bank.api import events, pages, schema
from ledgerline.bank.models import UsageEvent
from ledgerline.bank.money import masked


class UsageEvents(APIView):
    """What a customer used. Each event has an id of its own, so a batch needs no key."""

    @extend_schema(
        request=events.BatchFields,
        responses={200: schema.USAGE_OUTCOMES, **problem_responses(*schema.EDGES)},
    )
    @idempotency.idempotent(mode="atomic", required=False)
    def post(self, request: Request) -> HttpResponseBase:
        """Record up to 1,000 events; each is recorded, deduplicated or in conflict.

        200 whatever became of them, because every event has a final answer of its own. 400 names
        each event that cannot be read, and records none.
        """
        batch = events.BatchFields(data=request.data).batch()
        try:
            outcomes = usage.record(batch, owner=UUID(str(request.user.pk)))
        except errors.UnknownAccounts as error:
            sentence = errors.UnknownAccount.sentence()
            raise events.refused({at: {"account": [sentence]} for at in error.places}) from error
        return http_response(json_answer(200, _told(outcomes)))

    @extend_schema(
        operation_id="usage_events_list",
        parameters=[schema.TYPE, schema.LIMIT, schema.AFTER],
        responses={200: schema.USAGE_EVENTS},
    )
    def get(self, request: Request) -> Response:
        """Your events, the last recorded first; `?type=` narrows them to one type."""
        rows = UsageEvent.objects.filter(user=request.user.pk).select_related("account")
        if "type" in request.query_params:
            rows = rows.filter(type=request.query_params["type"])
        if "after" in request.query_params:
            rows = rows.filter(id__lt=pages.row_id(request.query_params["after"]))
        found, following = pages.page(rows.order_by("-id"), request=request)
        shown = [_event(event) for event in found]
        return Response(pages.listed("events", shown, following=following))


def _told(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    counts = Counter(outcome.verdict for outcome in outcomes)
    return {
        "recorded": counts[Verdict.RECORDED],
        "deduplicated": counts[Verdict.DEDUPLICATED],
        "conflicts": counts[Verdict.CONFLICT],
        "events": [_outcome(outcome) for outcome in outcomes],
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    said: dict[str, Any] = {"id": outcome.key, "status": str(outcome.verdict)}
    if outcome.verdict is Verdict.CONFLICT:
        said["differs"] = list(outcome.differing)
    return said


def _event(event: UsageEvent) -> dict[str, Any]:
    return {
        "id": event.event_id,
        "type": event.type,
        "quantity": event.quantity,
        "occurredAt": written_at(event.occurred_at),
        "account": event.account and masked(event.account.number),
        "metadata": event.metadata,
        "recordedAt": written_at(event.recorded_at),
    }
