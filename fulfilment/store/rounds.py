"""What keeps rounds of work apart: one round at a time, one row for one worker."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import connection

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

# The same for what has its verdict and is asked about again.
TAKE_DUE_RECHECK = """
UPDATE fulfilment SET recheck_at = clock_timestamp() + %(meanwhile)s
 WHERE id = (SELECT id FROM fulfilment
              WHERE recheck_at <= clock_timestamp() AND connector <> ALL(%(without)s)
              ORDER BY recheck_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
RETURNING id
"""


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

    What is open comes before what has its verdict. Rows of the connectors in `without` are left for
    later.
    """
    values: dict[str, Any] = {"meanwhile": meanwhile, "without": list(without)}
    with connection.cursor() as cursor:
        for statement in (TAKE_DUE_LOOKUP, TAKE_DUE_RECHECK):
            cursor.execute(statement, values)
            if row := cursor.fetchone():
                return int(row[0])
    return None
