"""Another system that a leased handler calls: its own books are the oracle, whatever we recorded."""

from collections import Counter
from datetime import timedelta
from typing import Any

from django.db import connection
from rest_framework.response import Response

from idempotency import Answer, Done, NotDone
from tests.integration.idempotency.stage import Act, effect

LEASE = {"LEASE": timedelta(seconds=30), "RECHECK_FIRST": timedelta(seconds=20)}

books: Counter[str] = Counter()  # orders by our reference; the same reference again adds nothing


def order(reference: str) -> None:
    """The effect in the other system. It recognises a reference that it has seen."""
    books[reference] = 1


def orders(request: Any) -> Response:
    """A handler as it should be: mark, call, then the last writes together with the answer."""
    claim = request.idempotency
    claim.sending()
    order(claim.reference)
    with claim.settling():
        return Response({"n": effect(request)}, status=201)


def orders_then(error: BaseException) -> Act:
    """A handler that dies with the answer of the other system in its hand."""

    def act(request: Any) -> Response:
        request.idempotency.sending()
        order(request.idempotency.reference)
        raise error

    return act


def asks(record: Any) -> object:
    """What a hook finds that asks by reference."""
    if books[record.reference]:
        return Done(Answer(201, (("Content-Type", "application/json"),), b'{"n":"found"}'))
    return NotDone()


def run_out(*, minutes: int = 1) -> None:
    """Lease and back-off of every key are over."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE idempotency_keys SET"
            " locked_until = CASE WHEN locked_until IS NOT NULL THEN clock_timestamp() - %(ago)s END,"
            " next_check_at = CASE WHEN next_check_at IS NOT NULL THEN clock_timestamp() - %(ago)s END",
            {"ago": timedelta(minutes=minutes)},
        )


def standing() -> dict[str, Any]:
    """The one key on record."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT status, locked_until > clock_timestamp() AS leased, sent_at IS NOT NULL AS sent,"
            " held_at IS NOT NULL AS held, hold_reason, next_check_at > clock_timestamp() AS waits,"
            " claim_token FROM idempotency_keys"
        )
        names = [column.name for column in cursor.description]
        [found] = cursor.fetchall()
    return dict(zip(names, found, strict=True))
