"""Final answers whose time is over are deleted, in small steps that any number of processes may share.

Only rows that are final go: what is in progress, deferred or held stays, however old. What an
operation left in other tables stays as well, above all its reference: a retry that comes later than
RETENTION is answered by that (see AlreadyApplied), or, if it had been refused, runs again.
"""

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import connections

from idempotency import conf, store, transactions
from idempotency.checkpoints import checkpoint

log = logging.getLogger("idempotency")

# An age in seconds: "30 days" would be calendar days of the session's time zone, of 23 to 25 hours.
# The statement's own time, and not clock_timestamp(), which no index can look up. Only a final row
# has completed_at, so the condition is that of the index.
_OVER = "completed_at < statement_timestamp() - make_interval(secs => %(seconds)s)"

# The oldest first, by their place in the table. SKIP LOCKED: two at once take different rows, and a
# row that somebody corrects just now is left to the next run, which finds it young again.
RETIRE = f"""
DELETE FROM idempotency_keys
 WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM idempotency_keys
        WHERE {_OVER}
        ORDER BY completed_at
        LIMIT %(batch)s
          FOR UPDATE SKIP LOCKED))
"""

COUNT = f"SELECT count(*) FROM idempotency_keys WHERE {_OVER}"


def retire(
    *, within: timedelta | None = None, told: Callable[[int], object] = lambda total: None
) -> int:
    """Delete every final row that was completed longer than RETENTION ago; returns how many.

    Each RETENTION_BATCH is a transaction of its own, so that it may be killed at any time and goes
    on with the next call. It begins no further batch when `within` is over; `told` hears the total
    after each. Call it outside any transaction: raises ImproperlyConfigured inside one.
    """
    transactions.refuse_outer(store.alias(None))
    began, total = time.monotonic(), 0
    while within is None or time.monotonic() - began < within.total_seconds():
        gone = _changed(RETIRE)
        if gone == 0:
            break
        total += gone
        told(total)
        checkpoint("retention.retired")
    log.info("old answers deleted", extra={"action": "retired", "keys": total})
    return total


def due() -> int:
    """How many rows `retire` would delete now."""
    with connections[store.alias(None)].cursor() as cursor:
        cursor.execute(COUNT, _values())
        found = cursor.fetchone()
    return int(found[0]) if found else 0


def _changed(statement: str) -> int:
    with connections[store.alias(None)].cursor() as cursor:
        cursor.execute(statement, _values())
        return int(cursor.rowcount)


def _values() -> dict[str, Any]:
    limits = conf.current()
    return {"seconds": limits.retention.total_seconds(), "batch": limits.retention_batch}
