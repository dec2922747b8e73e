"""One clock for all workers: theirs differ, and a lease is only worth something on a shared one."""

from datetime import datetime

from django.db import connection

# Not now(): that stands still inside a transaction.
NOW = "SELECT clock_timestamp()"


def now() -> datetime:
    """The database's time, at this moment."""
    with connection.cursor() as cursor:
        cursor.execute(NOW)
        at: datetime = cursor.fetchone()[0]
    return at
