"""How the records stand at this moment, in one bounded question: for whoever watches."""

from dataclasses import dataclass

from django.db import connections, transaction

from idempotency import store

# A scrape must never queue up behind what it is there to show.
_BOUND = "SET LOCAL statement_timeout = '2s'"

# Open rows only, by their partial index: a handful among millions that are final. `leased` is a
# request at work, or dead and not yet found; `cleared` did nothing and waits for its client's retry;
# `held` is unknown; `deferred` gets its outcome from elsewhere. An atomic request is not visible.
OPEN_KEYS = """
SELECT CASE WHEN held_at IS NOT NULL THEN 'held'
            WHEN locked_until IS NULL THEN 'deferred'
            WHEN sent_at IS NULL AND cleared_at IS NOT NULL AND locked_until <= clock_timestamp()
            THEN 'cleared'
            ELSE 'leased' END AS state,
       count(*),
       extract(epoch FROM clock_timestamp() - min(coalesce(held_at, created_at)))
  FROM idempotency_keys
 WHERE status = 'in_progress'
 GROUP BY state
"""

# What a sweep has to ask about or to free. It comes by every few seconds: what stays due for longer
# says that nobody sweeps.
DUE_KEYS = """
SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(since)), 0)
  FROM (SELECT CASE WHEN held_at IS NULL THEN locked_until
                    ELSE coalesce(next_check_at, held_at) END AS since
          FROM idempotency_keys
         WHERE status = 'in_progress'
           AND (held_at IS NOT NULL OR sent_at IS NOT NULL OR cleared_at IS NULL)) AS open
 WHERE since <= clock_timestamp()
"""

# One half for each of the two partial indexes.
OPEN_ACTIONS = """
SELECT 'claimed', count(*), extract(epoch FROM clock_timestamp() - min(claimed_at))
  FROM idempotency_actions WHERE state = 'claimed'
UNION ALL
SELECT 'held', count(*), extract(epoch FROM clock_timestamp() - min(held_at))
  FROM idempotency_actions WHERE state = 'held'
"""

KEY_STATES = ("leased", "cleared", "deferred", "held")
ACTION_STATES = ("claimed", "held")


@dataclass(frozen=True, slots=True)
class Group:
    """Open rows of one state: how many, and the age of the oldest in seconds (0 without any)."""

    count: int = 0
    oldest: float = 0.0


@dataclass(frozen=True, slots=True)
class Standing:
    """What is open. Every state is there, be it empty."""

    keys: dict[str, Group]
    due: Group
    actions: dict[str, Group]


def now() -> Standing:
    """Ask the database. Raises DatabaseError or InterfaceError if it does not answer in 2 s."""
    using = store.alias(None)
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        cursor.execute(_BOUND)
        cursor.execute(OPEN_KEYS)
        keys = _groups(KEY_STATES, cursor.fetchall())
        cursor.execute(DUE_KEYS)
        due = _group(*cursor.fetchone())
        cursor.execute(OPEN_ACTIONS)
        return Standing(keys, due, _groups(ACTION_STATES, cursor.fetchall()))


def _groups(states: tuple[str, ...], rows: list[tuple[str, int, float]]) -> dict[str, Group]:
    found = {state: _group(count, oldest) for state, count, oldest in rows}
    return {state: found.get(state, Group()) for state in states}


def _group(count: int, oldest: float | None) -> Group:
    return Group(count, max(0.0, float(oldest or 0)))
