"""Every statement on `idempotency_keys`, by name. PostgreSQL only, READ COMMITTED, its own clock."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connections

from idempotency import conf
from idempotency.contract import Answer, Record, Status
from idempotency.errors import ClaimLost
from idempotency.fingerprint import VERSION
from idempotency.key import lock_of

# Bound every later wait of this transaction, so that a stopped process or a dead host cannot keep
# the key.
BOUNDS = """
WITH bounds AS MATERIALIZED (
    SELECT set_config('lock_timeout', %(lock_timeout)s, true),
           set_config('statement_timeout', %(statement_timeout)s, true),
           set_config('idle_in_transaction_session_timeout', %(idle_timeout)s, true)
)"""

# Take the key's lock and, only if it was free, insert the row: a duplicate is told so at once,
# where ON CONFLICT alone would wait for the first request's transaction. The primary key stays
# the arbiter. Without a lease the claim lasts as long as this transaction; with one it is committed
# at once and belongs to the holder of the token.
CLAIM = f"""{BOUNDS}, gate AS MATERIALIZED (
    SELECT CASE WHEN %(advisory)s THEN pg_try_advisory_xact_lock(%(lock)s) ELSE true END AS got
      FROM bounds
), claimed AS (
    INSERT INTO idempotency_keys
           (user_id, key, request_hash, hash_version, operation, status, created_at,
            claim_token, locked_until)
    SELECT %(scope)s, %(key)s, %(fingerprint)s, %(version)s, %(operation)s, 'in_progress',
           clock_timestamp(), %(token)s, clock_timestamp() + %(lease)s::interval
      FROM gate
     WHERE got
        ON CONFLICT DO NOTHING
 RETURNING 1
)
SELECT EXISTS (SELECT 1 FROM claimed)
"""

# A record and the database's time, as `as_row` reads them.
COLUMNS = """
user_id, key, request_hash, status, operation, created_at, response_code, response_headers,
response_body, locked_until, sent_at, held_at, hold_reason, next_check_at, clock_timestamp()
"""

# What is on record for the key. Always a later statement than the claim: the row whose insert made
# the claim fail was committed after the claim's snapshot, and only a new snapshot sees it.
READ = f"SELECT {COLUMNS} FROM idempotency_keys WHERE user_id = %(scope)s AND key = %(key)s"

# Store the final answer; whoever owned, held or checked the key does so no more. As it stands, for
# the claim that this very transaction inserted.
SETTLE = """
UPDATE idempotency_keys
   SET status = %(status)s, response_code = %(code)s, response_headers = %(headers)s,
       response_body = %(body)s, completed_at = clock_timestamp(),
       locked_until = NULL, claim_token = NULL, sent_at = NULL,
       held_at = NULL, hold_reason = '', next_check_at = NULL
 WHERE user_id = %(scope)s AND key = %(key)s AND status = 'in_progress'
"""

# The same for a leased key: the token tells its holder from everybody who took it over.
SETTLE_LEASED = SETTLE + " AND claim_token = %(token)s"

# Give a deferred key its final answer. What is leased, held or final is somebody else's to decide.
COMPLETE = SETTLE + " AND locked_until IS NULL AND held_at IS NULL"

# The same for a held key, by a person: only the hold that the person was looking at.
SETTLE_HELD = SETTLE + " AND held_at = %(held_at)s"

# Replace a stored refusal by the success that it turned out to be.
CORRECT = """
UPDATE idempotency_keys
   SET status = %(status)s, response_code = %(code)s, response_headers = %(headers)s,
       response_body = %(body)s, completed_at = clock_timestamp()
 WHERE user_id = %(scope)s AND key = %(key)s AND status = 'failed'
"""

# The request that the finished key belongs to, for the cache.
RETURNING = " RETURNING request_hash"


@dataclass(frozen=True, slots=True)
class Row:
    """A record and the database's time at which it was read."""

    record: Record
    now: datetime


def claim(
    scope: UUID,
    *,
    key: str,
    fingerprint: str,
    operation: str,
    token: UUID | None = None,
    lease: timedelta | None = None,
    using: str | None = None,
    advisory: bool = True,
) -> bool:
    """Own the key for the rest of this transaction: True once, False for everybody else.

    False comes at once while the first request runs. With a `token` and a `lease` the key is owned
    beyond the transaction. With `advisory=False` the primary key alone decides, and a duplicate
    waits for the first transaction's end (tests drive it so).
    """
    values = {
        **names(scope, key),
        **bounds(),
        "fingerprint": fingerprint,
        "version": VERSION,
        "operation": operation,
        "advisory": advisory,
        "lock": lock_of(scope, key),
        "token": token,
        "lease": lease,
    }
    with connections[alias(using)].cursor() as cursor:
        cursor.execute(CLAIM, values)
        found = cursor.fetchone()
        return bool(found and found[0])


def read(scope: UUID, key: str, *, using: str | None = None) -> Row | None:
    """The key's row as committed now (or written by this transaction); None if there is none."""
    with connections[alias(using)].cursor() as cursor:
        cursor.execute(READ, names(scope, key))
        found = cursor.fetchone()
    return None if found is None else as_row(found)


def settle(
    scope: UUID, key: str, answer: Answer, *, token: UUID | None = None, using: str | None = None
) -> None:
    """Store the answer of this transaction's claim, or of the lease that `token` names.

    Raises ClaimLost if it is not open any more.
    """
    statement = SETTLE if token is None else SETTLE_LEASED
    if _finish(statement, scope, key, answer, using, token=token) is None:
        raise ClaimLost(ClaimLost.__doc__)


def complete(scope: UUID, key: str, answer: Answer, *, using: str | None = None) -> str | None:
    """Store the answer of a deferred key: its fingerprint, or None if the key is not deferred."""
    return _finish(COMPLETE, scope, key, answer, using)


def settle_held(scope: UUID, key: str, answer: Answer, *, held_at: datetime) -> str | None:
    """Store the answer of a held key: its fingerprint, or None if that hold is over."""
    return _finish(SETTLE_HELD, scope, key, answer, None, held_at=held_at)


def correct(scope: UUID, key: str, answer: Answer, *, using: str | None = None) -> str | None:
    """Replace the refusal of a failed key: its fingerprint, or None if the key is not failed."""
    return _finish(CORRECT, scope, key, answer, using)


def alias(using: str | None) -> str:
    """The database that holds the keys: the one of the guarded views' business rows."""
    return using or conf.current().database


def names(scope: UUID, key: str) -> dict[str, Any]:
    """The parameters that name a row."""
    return {"scope": scope, "key": key}


def bounds() -> dict[str, Any]:
    """The parameters of BOUNDS."""
    limits = conf.current()
    return {
        "lock_timeout": _milliseconds(limits.lock_timeout),
        "statement_timeout": _milliseconds(limits.statement_timeout),
        "idle_timeout": _milliseconds(limits.idle_timeout),
    }


def as_row(found: tuple[Any, ...]) -> Row:
    """The row that COLUMNS selected."""
    scope, key, print_, status, operation, created_at, code, headers, body, *open_until, now = found
    locked_until, sent_at, held_at, hold_reason, next_check_at = open_until
    record = Record(
        scope=scope,
        key=key,
        fingerprint=print_,
        status=Status(status),
        operation=operation,
        created_at=created_at,
        answer=None if code is None else _answer(code, headers, body),
        locked_until=locked_until,
        sent_at=sent_at,
        held_at=held_at,
        hold_reason=hold_reason,
        next_check_at=next_check_at,
    )
    return Row(record, now)


def _finish(
    statement: str,
    scope: UUID,
    key: str,
    answer: Answer,
    using: str | None,
    *,
    token: UUID | None = None,
    held_at: datetime | None = None,
) -> str | None:
    values = {
        **names(scope, key),
        "token": token,
        "held_at": held_at,
        "status": str(answer.outcome),
        "code": answer.status,
        "headers": json.dumps(answer.headers),
        "body": answer.body,
    }
    with connections[alias(using)].cursor() as cursor:
        cursor.execute(statement + RETURNING, values)
        found = cursor.fetchone()
    return None if found is None else str(found[0])


def _answer(code: int, headers: str, body: bytes) -> Answer:
    pairs = json.loads(headers)  # Django hands jsonb over as text
    return Answer(code, tuple((name, value) for name, value in pairs), bytes(body))


def _milliseconds(bound: timedelta) -> str:
    return str(round(bound.total_seconds() * 1000))
