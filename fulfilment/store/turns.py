"""Turns to ask a provider: one after the other, whichever process asks."""

from datetime import timedelta
from typing import Any

from django.db import connection

# The caller's turn, and the next one's after it, in one statement: of any number at once each gets
# its own. Where it is too far off, nothing is taken. What went by unused is not saved up.
TAKE_TURN = """
INSERT INTO fulfilment_connector AS c (name, failures, free_at)
VALUES (%(name)s, 0, clock_timestamp() + %(distance)s)
    ON CONFLICT (name) DO UPDATE
   SET free_at = GREATEST(c.free_at, clock_timestamp()) + %(distance)s
 WHERE c.free_at IS NULL OR c.free_at <= clock_timestamp() + %(patience)s
RETURNING free_at - %(distance)s - clock_timestamp()
"""

# Whose next turn is still to come.
BUSY = "SELECT name FROM fulfilment_connector WHERE free_at > clock_timestamp()"


def take_turn(name: str, *, distance: timedelta, patience: timedelta) -> timedelta | None:
    """How long the caller has to wait for its turn; None: longer than `patience`."""
    values: dict[str, Any] = {"name": name, "distance": distance, "patience": patience}
    with connection.cursor() as cursor:
        cursor.execute(TAKE_TURN, values)
        row = cursor.fetchone()
    wait: timedelta | None = row[0] if row else None
    return wait


def busy_connectors() -> list[str]:
    """The connectors that would have to be waited for."""
    with connection.cursor() as cursor:
        cursor.execute(BUSY)
        return [name for (name,) in cursor.fetchall()]
