"""Every statement on `idempotency_actions`, by name. PostgreSQL only, READ COMMITTED, its own clock."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connections

from idempotency import store
from idempotency.errors import ClaimLost
from idempotency.gate.identity import Identity

# The bounds of the claim's own transaction. Inside somebody else's, theirs hold.
_OWN_BOUNDS = store.BOUNDS
_OUTER_BOUNDS = "WITH bounds AS (SELECT 1)"

# The insert is the lock: the unique constraint lets one in. The advisory lock in front only spares
# a second caller the wait for the first one's transaction.
_CLAIM = """{bounds}, gate AS MATERIALIZED (
    SELECT CASE WHEN %(advisory)s THEN pg_try_advisory_xact_lock(%(lock)s) ELSE true END AS got
      FROM bounds
)
INSERT INTO idempotency_actions
       (slot, action, target, key, namespace, state, token, claimed_at, locked_until)
SELECT %(slot)s, %(action)s, %(target)s, %(key)s, %(namespace)s, 'claimed', %(token)s,
       clock_timestamp(), clock_timestamp() + %(lease)s
  FROM gate
 WHERE got
    ON CONFLICT DO NOTHING
RETURNING 1
"""
CLAIM = _CLAIM.format(bounds=_OWN_BOUNDS)
CLAIM_WITHIN = _CLAIM.format(bounds=_OUTER_BOUNDS)

# The whole identity, because a digest that two actions share must not make one of them the other.
_SAME = """slot = %(slot)s AND action = %(action)s AND target = %(target)s AND key = %(key)s
   AND namespace IS NOT DISTINCT FROM %(namespace)s"""

READ = f"""
SELECT state, result, settled_at, held_at, hold_reason, claimed_at, locked_until, clock_timestamp()
  FROM idempotency_actions WHERE {_SAME}
"""

# Its claimant's row; what was held or released meanwhile has no such token any more.
_OWN = f"{_SAME} AND token = %(token)s AND state = 'claimed'"
_FREED = "token = NULL, locked_until = NULL"

SETTLE = f"""
UPDATE idempotency_actions
   SET state = 'settled', result = %(result)s, settled_at = clock_timestamp(), {_FREED}
 WHERE {_OWN}
"""
RELEASE = f"DELETE FROM idempotency_actions WHERE {_OWN}"
HOLD = f"""
UPDATE idempotency_actions
   SET state = 'held', held_at = clock_timestamp(), hold_reason = %(reason)s, {_FREED}
 WHERE {_OWN}
"""

# Claims whose process is dead or too late: nobody knows how far they came. Two sweeps at once share
# the work, and a claimant that is settling at this moment keeps its row.
HOLD_EXPIRED = f"""
WITH expired AS MATERIALIZED (
    SELECT id FROM idempotency_actions
     WHERE state = 'claimed' AND locked_until <= clock_timestamp()
     ORDER BY locked_until
     LIMIT %(batch)s
       FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE idempotency_actions AS mine
   SET state = 'held', held_at = clock_timestamp(), hold_reason = %(reason)s, {_FREED}
  FROM expired
 WHERE mine.id = expired.id
RETURNING mine.slot, mine.action
"""

# A person's word on what is held, as they saw it; of two clicks one finds it so.
_SEEN = "id = %(id)s AND state = 'held' AND held_at = %(held_at)s"
SETTLE_HELD = f"""
UPDATE idempotency_actions
   SET state = 'settled', result = %(result)s, settled_at = clock_timestamp(),
       held_at = NULL, hold_reason = ''
 WHERE {_SEEN}
RETURNING slot
"""
RELEASE_HELD = f"DELETE FROM idempotency_actions WHERE {_SEEN} RETURNING slot"


@dataclass(frozen=True, slots=True)
class Row:
    """A slot's row, and the database's time at which it was read."""

    state: str
    result: str | None
    settled_at: datetime | None
    held_at: datetime | None
    hold_reason: str
    claimed_at: datetime
    locked_until: datetime | None
    now: datetime

    @property
    def expired(self) -> bool:
        """Is it claimed by somebody whose lease is over?"""
        return self.locked_until is not None and self.locked_until <= self.now


def claim(
    identity: Identity,
    *,
    token: UUID,
    lease: timedelta,
    statements: timedelta | None = None,
    within: bool = False,
    advisory: bool = True,
) -> bool:
    """Take the slot: True once, False for everybody else, at once.

    In a transaction of its own the bounds of `IDEMPOTENCY` apply from here on, `statements` for
    each statement; `within` another transaction nothing of it is changed. With `advisory=False` the
    constraint alone decides (tests drive it so).
    """
    bounds = store.bounds()
    if statements is not None:
        bounds["statement_timeout"] = str(round(statements.total_seconds() * 1000))
    values = {**bounds, "lease": lease, "advisory": advisory, "lock": identity.lock}
    return _changed(CLAIM_WITHIN if within else CLAIM, identity, token=token, **values)


def read(identity: Identity) -> Row | None:
    """What stands in the identity's slot, as committed now; None if it is free."""
    with connections[alias()].cursor() as cursor:
        cursor.execute(READ, names(identity))
        found = cursor.fetchone()
    return None if found is None else Row(*found)


def settle(identity: Identity, *, token: UUID, result: str | None) -> None:
    """It happened. Raises ClaimLost if the slot is not the token's any more."""
    _own(SETTLE, identity, token=token, result=result)


def release(identity: Identity, *, token: UUID) -> None:
    """Nothing happened: the slot is free. Raises ClaimLost as `settle` does."""
    _own(RELEASE, identity, token=token)


def hold(identity: Identity, *, token: UUID, reason: str) -> None:
    """Nobody knows. Raises ClaimLost as `settle` does."""
    _own(HOLD, identity, token=token, reason=reason.strip()[:_LONGEST_REASON] or "no reason given")


def hold_expired(*, batch: int, reason: str) -> list[tuple[str, str]]:
    """Hold at most `batch` claims whose lease is over; the slot and the action of each."""
    with connections[alias()].cursor() as cursor:
        cursor.execute(HOLD_EXPIRED, {"batch": batch, "reason": reason})
        return list(cursor.fetchall())


def settle_held(pk: int, *, held_at: datetime, result: str | None) -> str | None:
    """A held action happened after all: its slot, or None if it is not held so any more."""
    return _seen(SETTLE_HELD, id=pk, held_at=held_at, result=result)


def release_held(pk: int, *, held_at: datetime) -> str | None:
    """A held action did not happen: its slot, free again, or None as `settle_held`."""
    return _seen(RELEASE_HELD, id=pk, held_at=held_at)


def alias() -> str:
    """The database that holds the slots: the one of the keys and of the business rows."""
    return store.alias(None)


def names(identity: Identity) -> dict[str, Any]:
    """The parameters that name a row."""
    return {
        "slot": identity.slot,
        "action": identity.action,
        "target": identity.target,
        "key": identity.key,
        "namespace": identity.namespace,
    }


_LONGEST_REASON = 255


def _own(statement: str, identity: Identity, *, token: UUID, **values: Any) -> None:
    if not _changed(statement, identity, token=token, **values):
        raise ClaimLost(ClaimLost.__doc__)


def _changed(statement: str, identity: Identity, **values: Any) -> bool:
    with connections[alias()].cursor() as cursor:
        cursor.execute(statement, names(identity) | values)
        return bool(cursor.rowcount == 1)


def _seen(statement: str, **values: Any) -> str | None:
    with connections[alias()].cursor() as cursor:
        cursor.execute(statement, values)
        found = cursor.fetchone()
    return None if found is None else str(found[0])
