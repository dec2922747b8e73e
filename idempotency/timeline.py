"""On which history of the database do we stand? A promotion that lost commits starts a new one."""

import time

from django.db import connections
from django.db.backends.signals import connection_created

from idempotency import conf

# The timeline of the write-ahead log itself: the control file learns a promotion only with the
# first checkpoint after it.
_TIMELINE = "SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)"

# A process that answers from its cache alone may keep a dead connection unnoticed; it asks again
# after so many seconds.
_REMEMBER = 10.0

_known: dict[str, tuple[str, float]] = {}


def current() -> str:
    """The timeline of the keys' database, remembered per process. Raises Django's database errors."""
    alias = conf.current().database
    timeline, read_at = _known.get(alias, ("", float("-inf")))
    if time.monotonic() - read_at > _REMEMBER:
        with connections[alias].cursor() as cursor:
            cursor.execute(_TIMELINE)
            timeline = str(cursor.fetchone()[0])
        _known[alias] = timeline, time.monotonic()
    return timeline


def _forget(*, connection: object, **_: object) -> None:
    _known.pop(getattr(connection, "alias", ""), None)  # the new connection may lead elsewhere


connection_created.connect(_forget, dispatch_uid="idempotency.timeline")
