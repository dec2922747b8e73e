"""Keys of long ago: time is moved in the rows, not in the clock."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection

# Every kind of row that is final, in numbers.
_FINAL = """
INSERT INTO idempotency_keys (user_id, key, request_hash, hash_version, operation, status, created_at,
                              response_code, response_headers, response_body, completed_at)
SELECT %(user)s, %(prefix)s || n, repeat('0', 64), 1, 'stage.required',
       CASE n %% 2 WHEN 0 THEN 'completed' ELSE 'failed' END,
       clock_timestamp() - make_interval(secs => %(age)s),
       CASE n %% 2 WHEN 0 THEN 201 ELSE 400 END, '[]', '\\x00',
       clock_timestamp() - make_interval(secs => %(age)s)
  FROM generate_series(1, %(count)s) AS n
"""

# One row of each kind that is open, none of which anybody may delete for its age.
_OPEN = """
INSERT INTO idempotency_keys (user_id, key, request_hash, hash_version, operation, status, created_at,
                              locked_until, claim_token, sent_at, held_at, hold_reason, next_check_at)
SELECT %(user)s, kind, repeat('0', 64), 1, 'stage.leased', 'in_progress', old,
       CASE WHEN kind IN ('leased', 'marked') THEN old END,
       CASE WHEN kind <> 'deferred' THEN gen_random_uuid() END,
       CASE WHEN kind IN ('marked', 'held') THEN old END,
       CASE kind WHEN 'held' THEN old END,
       CASE kind WHEN 'held' THEN 'nobody knows' ELSE '' END,
       CASE kind WHEN 'held' THEN clock_timestamp() + interval '1 hour' END
  FROM unnest(ARRAY['leased', 'marked', 'held', 'deferred']) AS kind,
       (SELECT clock_timestamp() - make_interval(secs => %(age)s) AS old) AS age
"""


def finished(count: int, *, age: timedelta, user: UUID, prefix: str = "old-") -> None:
    """So many successes and refusals that were stored so long ago."""
    _run(_FINAL, count=count, age=age.total_seconds(), user=user, prefix=prefix)


def open_ones(*, age: timedelta, user: UUID) -> None:
    """A leased, a marked, a held and a deferred key, as old."""
    _run(_OPEN, age=age.total_seconds(), user=user)


def grown_older(by: timedelta) -> None:
    """As much time passes for every key that is finished."""
    _run(
        "UPDATE idempotency_keys SET created_at = created_at - make_interval(secs => %(by)s),"
        " completed_at = completed_at - make_interval(secs => %(by)s)",
        by=by.total_seconds(),
    )


def keys() -> list[str]:
    """What is left."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT key FROM idempotency_keys ORDER BY key")
        return [key for (key,) in cursor.fetchall()]


def _run(statement: str, **values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
