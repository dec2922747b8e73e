"""The statements that the ORM does not say, each with its intent. All by the database's clock."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from fulfilment.models import Attempt, Fulfilment, ProviderEvent

# One clock for all workers: theirs differ, and a lease is only worth something on a shared one.
# Not now(): that stands still inside a transaction.
NOW = "SELECT clock_timestamp()"

# The mark that lets a call be made. It loses against the sweeper (closed_at), against a second
# mark (sent_at) and against a worker that woke up too late for its call to end within its lease.
MARK_SENT = """
UPDATE fulfilment_attempt SET sent_at = clock_timestamp()
 WHERE token = %(token)s
   AND closed_at IS NULL
   AND sent_at IS NULL
   AND clock_timestamp() + %(call)s <= lease_until
"""

# The worker's own end of its attempt; 0 rows: somebody took it over.
CLOSE = """
UPDATE fulfilment_attempt SET closed_at = clock_timestamp(), outcome = %(outcome)s
 WHERE token = %(token)s AND closed_at IS NULL
"""

# Closing and learning whether it was sent are ONE statement: it waits for a mark that is not yet
# committed and then sees it, where a read before the update would have missed it.
CLOSE_EXPIRED = """
UPDATE fulfilment_attempt
   SET closed_at = clock_timestamp(),
       outcome = CASE WHEN sent_at IS NULL THEN 'unsent' ELSE 'lost' END
 WHERE fulfilment_id = %(fulfilment)s AND closed_at IS NULL AND lease_until <= clock_timestamp()
RETURNING id
"""

# One round of look-ups at a time, on however many workers: the provider's budget is for all of them.
# Held by the session, so a killed worker gives it back.
TRY_ALONE = "SELECT pg_try_advisory_lock(hashtextextended(%(name)s, 0))"
NO_MORE_ALONE = "SELECT pg_advisory_unlock(hashtextextended(%(name)s, 0))"

# The look-up that is due longest, taken out of the other workers' sight for as long as asking may
# last. One at a time: the last of a batch would be due again before its turn. `=` and not IN: a
# plan may run the sub-select of IN once for every row, and each time it takes another one.
TAKE_DUE_LOOKUP = """
UPDATE fulfilment SET next_check_at = clock_timestamp() + %(meanwhile)s
 WHERE id = (SELECT id FROM fulfilment
              WHERE state = 'needs_reconciliation' AND next_check_at <= clock_timestamp()
                AND connector <> ALL(%(without)s)
              ORDER BY next_check_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
RETURNING id
"""


# The event and its body, in one round trip; no row: it is on record. Where another delivery of it is
# just being stored, this waits for that one's end, so a *later* statement sees its row.
INSERT_EVENT = """
WITH event AS (
    INSERT INTO provider_event
           (provider, account, livemode, dedupe_key, type, digest, reference, status, reason, checks,
            received_at, next_check_at)
    SELECT %(provider)s, %(account)s, %(livemode)s, %(dedupe_key)s, %(type)s, %(digest)s,
           %(reference)s, CASE WHEN %(waits)s THEN 'received' ELSE 'ignored' END, '', 0,
           clock_timestamp(), CASE WHEN %(waits)s THEN clock_timestamp() END
        ON CONFLICT DO NOTHING
 RETURNING id
), payload AS (
    INSERT INTO provider_event_payload (event_id, body) SELECT id, %(body)s FROM event
)
SELECT id FROM event
"""

# What else came under an event's name, each content once.
INSERT_CONFLICT = """
INSERT INTO provider_event_conflict (event_id, digest, body, received_at)
VALUES (%(event)s, %(digest)s, %(body)s, clock_timestamp())
    ON CONFLICT DO NOTHING
"""


def now() -> datetime:
    """The database's time, at this moment."""
    with connection.cursor() as cursor:
        cursor.execute(NOW)
        at: datetime = cursor.fetchone()[0]
    return at


def lock(fulfilment_id: int) -> Fulfilment:
    """The row, locked until the transaction ends. Always before any row that hangs on it."""
    return Fulfilment.objects.select_for_update(no_key=True).get(pk=fulfilment_id)


def lock_payment(payment_id: str) -> Fulfilment | None:
    """The payment's newest row, locked until the transaction ends; None where there is none."""
    rows = Fulfilment.objects.select_for_update(no_key=True).filter(payment_id=payment_id)
    return rows.order_by("-generation").first()


def lock_unless_taken(fulfilment_id: int, **conditions: Any) -> Fulfilment | None:
    """The row, locked, unless `conditions` are not so (any more) or somebody else works on it."""
    rows = Fulfilment.objects.select_for_update(no_key=True, skip_locked=True)
    return rows.filter(pk=fulfilment_id, **conditions).first()


def mark_sent(token: UUID, *, call: timedelta) -> bool:
    """True: the call may be made, and everybody will know that it may have been."""
    return _changed(MARK_SENT, {"token": token, "call": call})


def close(token: UUID, *, outcome: str) -> bool:
    """False: the token is dead, and its holder may decide nothing any more."""
    return _changed(CLOSE, {"token": token, "outcome": outcome})


def close_expired(fulfilment_id: int) -> Attempt | None:
    """Close the attempt whose lease is over; the answer knows whether it was sent."""
    with connection.cursor() as cursor:
        cursor.execute(CLOSE_EXPIRED, {"fulfilment": fulfilment_id})
        row = cursor.fetchone()
    return Attempt.objects.get(pk=row[0]) if row else None


@contextmanager
def alone(name: str) -> Iterator[bool]:
    """False for everybody who comes while somebody else is inside; nobody waits."""
    with connection.cursor() as cursor:
        cursor.execute(TRY_ALONE, {"name": name})
        got = bool(cursor.fetchone()[0])
    try:
        yield got
    finally:
        if got:
            with connection.cursor() as cursor:
                cursor.execute(NO_MORE_ALONE, {"name": name})


def take_due_lookup(*, meanwhile: timedelta, without: Sequence[str] = ()) -> int | None:
    """The id of a row whose look-up is due; nobody else gets it before `meanwhile` is over.

    Rows of the connectors in `without` are left for later.
    """
    values: dict[str, Any] = {"meanwhile": meanwhile, "without": list(without)}
    with connection.cursor() as cursor:
        cursor.execute(TAKE_DUE_LOOKUP, values)
        row = cursor.fetchone()
    return row[0] if row else None


def insert_event(**values: Any) -> int | None:
    """The id of the event that was put on record now; None: it is there already.

    `values`: provider, account, livemode, dedupe_key, type, digest, reference, body, and `waits`,
    whether it has to be applied.
    """
    with connection.cursor() as cursor:
        cursor.execute(INSERT_EVENT, values)
        row = cursor.fetchone()
    return row[0] if row else None


def insert_conflict(event_id: int, *, digest: str, body: bytes) -> bool:
    """True: nobody had seen this content under that event's name."""
    return _changed(INSERT_CONFLICT, {"event": event_id, "digest": digest, "body": body})


def lock_event(event_id: int) -> ProviderEvent:
    """The event, locked until the transaction ends. Always before the fulfilment it is about."""
    return ProviderEvent.objects.select_for_update(no_key=True).get(pk=event_id)


def _changed(statement: str, values: dict[str, Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return bool(cursor.rowcount == 1)
