"""Every statement on a key that is owned beyond a transaction: leased, marked, taken over, held.

Each is one compare-and-set on the token or on the time, by the database's clock; 0 rows changed
means that somebody else owns the key now. `store` has the statements that both modes share.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import connections

from idempotency import conf, store
from idempotency.errors import ClaimLost
from idempotency.redaction import mask_text
from idempotency.rows import COLUMNS, Row, as_row
from idempotency.store import names

# Its holder's row. What is settled, released or taken over has another token, or none.
_OWN = "user_id = %(scope)s AND key = %(key)s AND claim_token = %(token)s"

# Whoever owned it is late: a lease that is over, or a hold whose next check is due.
_DUE = """
status = 'in_progress'
AND CASE WHEN held_at IS NULL THEN locked_until ELSE coalesce(next_check_at, held_at) END
    <= clock_timestamp()
"""

# Take a due row out of everybody's sight for as long as a lease: one of two at once, and nobody
# waits. A held row stays held meanwhile: its clients and staff see what they saw before.
_TAKE = """
WITH due AS MATERIALIZED (
    SELECT user_id, key FROM idempotency_keys
     WHERE {which}
     LIMIT 1
       FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE idempotency_keys AS mine
   SET claim_token = %(token)s,
       locked_until = CASE WHEN held_at IS NULL THEN clock_timestamp() + %(lease)s END,
       next_check_at = CASE WHEN held_at IS NOT NULL THEN clock_timestamp() + %(lease)s END
  FROM due
 WHERE mine.user_id = due.user_id AND mine.key = due.key
RETURNING {columns}
"""

# The takeover by a retry: of the same request only, so that no other body ever runs under the key.
TAKE_OVER = _TAKE.format(
    which=f"user_id = %(scope)s AND key = %(key)s AND request_hash = %(fingerprint)s AND {_DUE}",
    columns=COLUMNS.replace("user_id, key", "mine.user_id, mine.key"),
)

# The sweep's: only what the other system may have heard of. Where nothing was sent there is
# nothing to ask, and the next retry simply runs.
TAKE_DUE = _TAKE.format(
    which=f"operation = %(operation)s AND (held_at IS NOT NULL OR sent_at IS NOT NULL) AND {_DUE}",
    columns=COLUMNS.replace("user_id, key", "mine.user_id, mine.key"),
)

# A person's, who need not wait for the next check. Of many clicks on one page the first changes the
# time of the next check, and the others find nothing.
TAKE_HELD = _TAKE.format(
    which="user_id = %(scope)s AND key = %(key)s AND status = 'in_progress'"
    " AND held_at = %(held_at)s AND next_check_at IS NOT DISTINCT FROM %(next_check_at)s",
    columns=COLUMNS.replace("user_id, key", "mine.user_id, mine.key"),
)

# The mark that lets a call be made. It loses against a takeover (the token), and against a lease
# that the call could outlast: "it is over" must not be said of a call that is still running.
MARK = f"""
UPDATE idempotency_keys SET sent_at = coalesce(sent_at, clock_timestamp())
 WHERE {_OWN} AND clock_timestamp() + %(call)s <= locked_until
"""

# Keep everybody else's hands off the row while the last business writes and the answer commit.
# SKIP LOCKED makes a takeover leave it alone; the bounds free it from a process that stops here.
LOCK = f"""{store.BOUNDS}
SELECT 1 FROM bounds, idempotency_keys WHERE {_OWN} AND status = 'in_progress'
   FOR NO KEY UPDATE OF idempotency_keys
"""

# Nothing happened: the key is as if it had never been used. Not so if an earlier call may have left
# its reference with the other system, which takes the next one for the same: then the row stays, so
# that only the same request can run again under that reference.
RELEASE = f"""
WITH gone AS (
    DELETE FROM idempotency_keys WHERE {_OWN} AND status = 'in_progress' AND cleared_at IS NULL
    RETURNING 1
), freed AS (
    UPDATE idempotency_keys SET locked_until = clock_timestamp(), sent_at = NULL
     WHERE {_OWN} AND status = 'in_progress' AND cleared_at IS NOT NULL
    RETURNING 1
)
SELECT 1 FROM gone UNION ALL SELECT 1 FROM freed
"""

# It may have happened. Checked soon, then ever rarer: after as long as it has been held already.
HOLD = f"""
UPDATE idempotency_keys
   SET held_at = coalesce(held_at, clock_timestamp()), hold_reason = %(reason)s, locked_until = NULL,
       next_check_at = clock_timestamp() + least(%(last)s, greatest(%(first)s,
                       clock_timestamp() - coalesce(held_at, clock_timestamp())))
 WHERE {_OWN} AND status = 'in_progress'
RETURNING {COLUMNS}
"""

# It is known that nothing happened: as if newly claimed, by whoever asked. With no lease at all the
# row is free for the next retry; it stays, so that no other request can have its key.
RESTART = f"""
UPDATE idempotency_keys
   SET locked_until = clock_timestamp() + %(lease)s, sent_at = NULL, cleared_at = clock_timestamp(),
       held_at = NULL, hold_reason = '', next_check_at = NULL
 WHERE {_OWN} AND status = 'in_progress'
"""

# A person says that nothing happened. The reference may have been sent: the row stays, so that only
# the same request can run again. The new token tells whoever is still asking about it to stop.
FREE = """
UPDATE idempotency_keys
   SET claim_token = %(token)s, locked_until = clock_timestamp(), sent_at = NULL,
       cleared_at = clock_timestamp(), held_at = NULL, hold_reason = '', next_check_at = NULL
 WHERE user_id = %(scope)s AND key = %(key)s AND status = 'in_progress' AND held_at = %(held_at)s
"""

# Whoever owned these died before any call: nothing can have happened, and nobody is asked. A retry
# that takes one over at this moment has its lock, or the other way round: each skips the other's.
ABANDONED = """
WITH dead AS MATERIALIZED (
    SELECT user_id, key FROM idempotency_keys
     WHERE status = 'in_progress' AND locked_until <= clock_timestamp()
       AND sent_at IS NULL AND cleared_at IS NULL
     LIMIT %(batch)s
       FOR UPDATE SKIP LOCKED
)
DELETE FROM idempotency_keys AS mine USING dead
 WHERE mine.user_id = dead.user_id AND mine.key = dead.key
"""

# A call came to no end, and no process with this code can ask about it: it is held, where staff see
# it and a process that knows better asks at the next check. The new token stops a late finisher.
HOLD_ORPHANS = """
UPDATE idempotency_keys
   SET claim_token = gen_random_uuid(), locked_until = NULL, held_at = clock_timestamp(),
       hold_reason = 'no view named ' || left(operation, 200) || ' is installed',
       next_check_at = clock_timestamp() + %(first)s
 WHERE (user_id, key) IN (
       SELECT user_id, key FROM idempotency_keys
        WHERE status = 'in_progress' AND locked_until <= clock_timestamp()
          AND sent_at IS NOT NULL AND operation <> ALL(%(known)s)
        LIMIT %(batch)s
          FOR NO KEY UPDATE SKIP LOCKED)
   AND status = 'in_progress' AND locked_until <= clock_timestamp()
"""

# After a restored backup: what was begun when it was made may have called since then, and the mark of
# that call is lost. So it is asked about before anything runs again.
DOUBT = """
UPDATE idempotency_keys SET sent_at = clock_timestamp()
 WHERE status = 'in_progress' AND locked_until IS NOT NULL AND sent_at IS NULL
"""

# Rows that no process with this code can ask about.
ORPHANS = f"""
SELECT operation, count(*) FROM idempotency_keys
 WHERE operation <> ALL(%(known)s) AND (held_at IS NOT NULL OR sent_at IS NOT NULL) AND {_DUE}
 GROUP BY operation
"""


def take_over(
    scope: UUID, key: str, *, fingerprint: str, lease: timedelta
) -> tuple[UUID, Row] | None:
    """Own a due key of the same request under a new token; None: it is not due, or somebody was first."""
    return _take(TAKE_OVER, names(scope, key) | {"fingerprint": fingerprint, "lease": lease})


def take_due(operation: str, *, lease: timedelta) -> tuple[UUID, Row] | None:
    """Own one due key of the operation about which somebody has to be asked; None: there is none."""
    return _take(TAKE_DUE, {"operation": operation, "lease": lease})


def take_held(
    scope: UUID,
    key: str,
    *,
    held_at: datetime,
    next_check_at: datetime | None,
    lease: timedelta,
) -> tuple[UUID, Row] | None:
    """Own a held key that stands as somebody saw it; None: it does not, or somebody works on it."""
    seen = {"held_at": held_at, "next_check_at": next_check_at, "lease": lease}
    return _take(TAKE_HELD, names(scope, key) | seen)


def free(scope: UUID, key: str, *, held_at: datetime) -> bool:
    """Leave a held key to its client's retry; False if that hold is over."""
    values = names(scope, key) | {"held_at": held_at, "token": uuid4()}
    with connections[store.alias(None)].cursor() as cursor:
        cursor.execute(FREE, values)
        return bool(cursor.rowcount)


def mark(scope: UUID, key: str, *, token: UUID, call: timedelta) -> None:
    """From here on the other system may hear of it. Raises ClaimLost: the call must not be made."""
    _changed(MARK, names(scope, key) | {"token": token, "call": call})


def lock(scope: UUID, key: str, *, token: UUID) -> None:
    """Keep the row until this transaction ends. Raises ClaimLost if it is not the token's any more."""
    _changed(LOCK, names(scope, key) | {"token": token} | store.bounds())


def release(scope: UUID, key: str, *, token: UUID) -> None:
    """Forget the key: nothing happened. Raises ClaimLost if it is not the token's any more."""
    _changed(RELEASE, names(scope, key) | {"token": token})


def hold(scope: UUID, key: str, *, token: UUID, reason: str) -> Row:
    """Say that nobody knows, and when to ask again. Raises ClaimLost as the others do."""
    limits = conf.current()
    values = names(scope, key) | {
        "token": token,
        # of an exception's text nobody knows what it holds, and staff need no whole account number
        "reason": mask_text(reason)[:_LONGEST_REASON] or "no reason given",
        "first": limits.recheck_first,
        "last": limits.recheck_last,
    }
    found = _one(HOLD, values)
    if found is None:
        raise ClaimLost(ClaimLost.__doc__)
    return as_row(found)


def restart(scope: UUID, key: str, *, token: UUID, lease: timedelta) -> None:
    """Begin again: it is known that nothing happened. Raises ClaimLost as the others do."""
    _changed(RESTART, names(scope, key) | {"token": token, "lease": lease})


def forget_abandoned(*, batch: int) -> int:
    """Forget up to `batch` keys whose owners died before they sent anything; how many."""
    with connections[store.alias(None)].cursor() as cursor:
        cursor.execute(ABANDONED, {"batch": batch})
        return int(cursor.rowcount)


def hold_orphans(known: list[str]) -> int:
    """Hold what came to no end and belongs to no operation of this process; how many."""
    limits = conf.current()
    values: dict[str, Any] = {
        "known": known,
        "first": limits.recheck_first,
        "batch": limits.batch,
    }
    with connections[store.alias(None)].cursor() as cursor:
        cursor.execute(HOLD_ORPHANS, values)
        return int(cursor.rowcount)


def doubt() -> int:
    """Let every leased key count as one whose call may have been made; how many did not yet."""
    with connections[store.alias(None)].cursor() as cursor:
        cursor.execute(DOUBT)
        return int(cursor.rowcount)


def orphans(known: list[str]) -> Mapping[str, int]:
    """How many due keys belong to operations that this process does not know."""
    with connections[store.alias(None)].cursor() as cursor:
        cursor.execute(ORPHANS, {"known": known})
        return dict(cursor.fetchall())


_LONGEST_REASON = 255


def _take(statement: str, values: dict[str, Any]) -> tuple[UUID, Row] | None:
    token = uuid4()
    found = _one(statement, values | {"token": token})
    return None if found is None else (token, as_row(found))


def _changed(statement: str, values: dict[str, Any]) -> None:
    with connections[store.alias(None)].cursor() as cursor:
        cursor.execute(statement, values)
        if cursor.rowcount != 1:
            raise ClaimLost(ClaimLost.__doc__)


def _one(statement: str, values: dict[str, Any]) -> tuple[Any, ...] | None:
    with connections[store.alias(None)].cursor() as cursor:
        cursor.execute(statement, values)
        found: tuple[Any, ...] | None = cursor.fetchone()
    return found
