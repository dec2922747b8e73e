"""Closing a day: once it is over, and only if the books of the whole bank are right."""

import logging
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import connection

from idempotency import gated
from ledgerline.bank import errors

log = logging.getLogger(__name__)

# Each in one statement, so of one moment, whatever is paid meanwhile.
_WRONG = {
    "postings that do not sum to zero": """
SELECT count(*) FROM (
    SELECT FROM bank_entry GROUP BY posting_id, currency HAVING sum(amount) <> 0) AS wrong
""",
    "balances that are not the sum of their entries": """
SELECT count(*) FROM bank_account a
  LEFT JOIN (SELECT account_id, sum(amount) AS total FROM bank_entry GROUP BY account_id) e
    ON e.account_id = a.id
 WHERE a.kind = 'customer' AND a.balance <> coalesce(e.total, 0)
""",
    "held money that is not the sum of open holds": """
SELECT count(*) FROM bank_account a
  LEFT JOIN (SELECT account_id, sum(amount) AS total FROM bank_hold
              WHERE state = 'open' GROUP BY account_id) h ON h.account_id = a.id
 WHERE a.kind = 'customer' AND a.held <> coalesce(h.total, 0)
""",
}
# What moved on the day, once per posting: the side that received it.
_TURNOVER = """
SELECT e.currency, count(DISTINCT p.id), sum(e.amount)
  FROM bank_posting p JOIN bank_entry e ON e.posting_id = p.id AND e.amount > 0
 WHERE p.posted_at >= %(since)s AND p.posted_at < %(until)s
 GROUP BY e.currency ORDER BY e.currency
"""


def yesterday() -> str:
    """The last day that is over, in UTC, as `close_day` wants it."""
    return (datetime.now(UTC).date() - timedelta(days=1)).isoformat()


# A transaction that began before midnight has ended by then: its statements and pauses are bounded.
_STILL_COMMITTING = timedelta(minutes=1)


def _named(day: str) -> str:
    """One spelling of the day, or it could be closed twice. Raises ValueError for what is none."""
    return date.fromisoformat(day).isoformat()


@gated("books.close_day", target=_named, atomic=True)
def close_day(day: str) -> dict[str, Any]:
    """Check all books and note what moved on the `day` (ISO, UTC); for ever the same once closed.

    Any number of processes may ask at any time: one closes it, all others get its result. Raises
    `BooksRefused` while the books are wrong or the day is not over: then it is not closed, and the
    next call tries again. Amounts in minor units.
    """
    since = datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC)
    until = since + timedelta(days=1)
    if datetime.now(UTC) < until + _STILL_COMMITTING:
        raise errors.BooksRefused(f"{day} is not over yet")
    with connection.cursor() as cursor:
        _refuse_wrong(cursor, day=day)
        cursor.execute(_TURNOVER, {"since": since, "until": until})
        rows = cursor.fetchall()
    log.info("day closed", extra={"action": "day_closed", "day": day})
    return {
        "day": _named(day),
        "turnover": {
            currency: {"postings": count, "amount": int(amount)} for currency, count, amount in rows
        },
    }


def _refuse_wrong(cursor: Any, *, day: str) -> None:
    for what, statement in _WRONG.items():
        cursor.execute(statement)
        [count] = cursor.fetchone()
        if count:
            extra = {"action": "books_wrong", "day": day, "what": what, "rows": count}
            log.error("the books are wrong", extra=extra)
            raise errors.BooksRefused(f"{count} {what}: {day} is not closed")
