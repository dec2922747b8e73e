"""On which history of the database do we stand? A promotion that lost commits starts a new one."""

import logging
import time

from django.db import connections
from django.db.backends.signals import connection_created

from idempotency import conf

log = logging.getLogger("idempotency")

# The timeline of the write-ahead log itself: the control file learns a promotion only with the
# first checkpoint after it.
TIMELINE = "substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)"

# A process that answers from its cache alone may keep a dead connection unnoticed, and behind a
# pooler none of its connections dies: what was learnt is believed for so many seconds.
_REMEMBER = 10.0

_known: dict[str, tuple[str, float]] = {}
_untold: set[str] = set()


def known() -> str | None:
    """The timeline of the keys' database as this process has learnt it lately; asks nobody."""
    timeline, learnt_at = _known.get(conf.current().database, ("", float("-inf")))
    return timeline if time.monotonic() - learnt_at <= _REMEMBER else None


def learn(timeline: str) -> None:
    """Every first look at a key brings it along, so that it costs no round trip of its own."""
    _known[conf.current().database] = timeline, time.monotonic()


def is_told() -> bool:
    """False for a database that refuses to tell, as some hosted ones do; see `refused`."""
    return conf.current().database not in _untold


def refused() -> None:
    """Do not ask this database again: without a timeline answers have no name in a cache."""
    _untold.add(conf.current().database)
    log.warning(
        "the database does not tell its timeline: answers are not cached",
        extra={"action": "timeline_refused"},
    )


def current() -> str:
    """The timeline, asked for if it is not known. Raises Django's database errors."""
    timeline = known()
    if timeline is None:
        with connections[conf.current().database].cursor() as cursor:
            cursor.execute(f"SELECT {TIMELINE}")
            timeline = str(cursor.fetchone()[0])
        learn(timeline)
    return timeline


def _forget(*, connection: object, **_: object) -> None:
    _known.pop(getattr(connection, "alias", ""), None)  # the new connection may lead elsewhere


connection_created.connect(_forget, dispatch_uid="idempotency.timeline")
