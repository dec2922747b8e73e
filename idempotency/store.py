"""Every statement on `idempotency_keys`, by name. PostgreSQL only, READ COMMITTED, its own clock."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import DataError, connections

from idempotency import conf, timeline
from idempotency.contract import Answer
from idempotency.errors import ClaimLost
from idempotency.fingerprint import version_of
from idempotency.key import lock_of
from idempotency.rows import COLUMNS, Row, as_row

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

# What is on record for the key. Always a later statement than the claim: the row whose insert made
# the claim fail was committed after the claim's snapshot, and only a new snapshot sees it.
READ = f"SELECT {COLUMNS} FROM idempotency_keys WHERE user_id = %(scope)s AND key = %(key)s"

# The first look at a key, before anything is begun: one row in any case, so that the history of the
# database (see `timeline`) comes along, which only the names in a cache need.
LOOK = f"""
SELECT CASE WHEN %(cached)s THEN {timeline.TIMELINE} END, {COLUMNS}
  FROM (VALUES (1)) AS always
  LEFT JOIN idempotency_keys ON user_id = %(scope)s AND key = %(key)s
"""

# Store the final answer; whoever owned, held or checked the key does so no more.
_FINISH = """
UPDATE idempotency_keys
   SET status = %(status)s, response_code = %(code)s, response_headers = %(headers)s,
       response_body = %(body)s, completed_at = clock_timestamp(),
       locked_until = NULL, claim_token = NULL, sent_at = NULL,
       held_at = NULL, hold_reason = '', next_check_at = NULL
 WHERE user_id = %(scope)s AND key = %(key)s AND status = 'in_progress'
"""

# The request that the finished key belongs to, for the cache.
RETURNING = " RETURNING request_hash"

# What PostgreSQL says, in its log too, when an answer finds no claim to settle.
LOST = "the claim is not open any more"

# Settle a claim. No row is an error of the statement itself, because COMMIT may be on its way
# behind it and must not be reached: text that says so is no number.
_SETTLE = """
WITH settled AS ({finish} RETURNING 1)
SELECT (CASE count(*) WHEN 1 THEN '1' ELSE '{lost}' END)::integer FROM settled
"""

# As it stands, for the claim that this very transaction inserted.
SETTLE = _SETTLE.format(finish=_FINISH, lost=LOST)

# For a leased key: the token tells its holder from everybody who took it over.
SETTLE_LEASED = _SETTLE.format(finish=_FINISH + " AND claim_token = %(token)s", lost=LOST)

# Give a deferred key its final answer. What is leased, held or final is somebody else's to decide.
COMPLETE = _FINISH + " AND locked_until IS NULL AND held_at IS NULL" + RETURNING

# The same for a held key, by a person: only the hold that the person was looking at.
SETTLE_HELD = _FINISH + " AND held_at = %(held_at)s" + RETURNING

# Replace a stored refusal by the success that it turned out to be.
CORRECT = (
    """
UPDATE idempotency_keys
   SET status = %(status)s, response_code = %(code)s, response_headers = %(headers)s,
       response_body = %(body)s, completed_at = clock_timestamp()
 WHERE user_id = %(scope)s AND key = %(key)s AND status = 'failed'
"""
    + RETURNING
)


@dataclass(frozen=True, slots=True)
class Look:
    """What a first look found: the key's row if there is one, and the timeline if it was asked."""

    row: Row | None
    timeline: str | None


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
    return claiming(
        scope,
        key=key,
        fingerprint=fingerprint,
        operation=operation,
        token=token,
        lease=lease,
        using=using,
        advisory=advisory,
    )()


def claiming(
    scope: UUID,
    *,
    key: str,
    fingerprint: str,
    operation: str,
    token: UUID | None = None,
    lease: timedelta | None = None,
    using: str | None = None,
    advisory: bool = True,
) -> Callable[[], bool]:
    """Send a claim, as one of a batch; what this returns says after the batch whether it won."""
    values = {
        **names(scope, key),
        **bounds(),
        "fingerprint": fingerprint,
        "version": version_of(fingerprint),
        "operation": operation,
        "advisory": advisory,
        "lock": lock_of(scope, key),
        "token": token,
        "lease": lease,
    }
    cursor = connections[alias(using)].cursor()
    cursor.execute(CLAIM, values)

    def won() -> bool:
        with cursor:
            found = cursor.fetchone()
        return bool(found and found[0])

    return won


def look(scope: UUID, key: str, *, cached: bool, using: str | None = None) -> Look:
    """The key's row as committed now; with the database's timeline, if answers are `cached`."""
    with connections[alias(using)].cursor() as cursor:
        cursor.execute(LOOK, names(scope, key) | {"cached": cached})
        found = cursor.fetchone()
    on, *row = found or (None, None)
    return Look(None if row[0] is None else as_row(tuple(row)), on)


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

    Raises ClaimLost if it is not open any more; in a batch, its end does (see `losing`).
    """
    statement = SETTLE if token is None else SETTLE_LEASED
    with losing(), connections[alias(using)].cursor() as cursor:
        cursor.execute(statement, _final(scope, key, answer) | {"token": token})


@contextmanager
def losing() -> Iterator[None]:
    """Call by its name what `settle` finds: raises ClaimLost."""
    try:
        yield
    except DataError as error:
        if LOST in str(error):
            raise ClaimLost(ClaimLost.__doc__) from error
        raise


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


def _finish(
    statement: str, scope: UUID, key: str, answer: Answer, using: str | None, **more: object
) -> str | None:
    with connections[alias(using)].cursor() as cursor:
        cursor.execute(statement, _final(scope, key, answer) | more)
        found = cursor.fetchone()
    return None if found is None else str(found[0])


def _final(scope: UUID, key: str, answer: Answer) -> dict[str, Any]:
    return {
        **names(scope, key),
        "status": str(answer.outcome),
        "code": answer.status,
        "headers": json.dumps(answer.headers),
        "body": answer.body,
    }


def _milliseconds(bound: timedelta) -> str:
    return str(round(bound.total_seconds() * 1000))
