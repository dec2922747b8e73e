"""What is on record for a key, and the passing of time."""

from typing import Any
from uuid import UUID

from django.core.cache import caches
from django.db import connections

from idempotency import conf, store
from idempotency.contract import Record
from idempotency.key import scope_of
from idempotency.models import AuditEntry, ConsumedToken, IdempotencyKey

# Times are moved in the row, as if the clock had run on: nobody has to wait.
_EXPIRE = """
UPDATE idempotency_keys
   SET locked_until = CASE WHEN held_at IS NULL THEN clock_timestamp() - interval '1 s' END,
       next_check_at = CASE WHEN held_at IS NOT NULL THEN clock_timestamp() - interval '1 s' END
 WHERE user_id = %(scope)s AND key = %(key)s AND (locked_until IS NOT NULL OR held_at IS NOT NULL)
"""
_HOLD = """
UPDATE idempotency_keys
   SET held_at = clock_timestamp(), hold_reason = %(reason)s, locked_until = NULL,
       next_check_at = clock_timestamp() - interval '1 s'
 WHERE user_id = %(scope)s AND key = %(key)s AND locked_until IS NOT NULL
"""

_APPEND_ONLY = (AuditEntry._meta.db_table, ConsumedToken._meta.db_table)  # noqa: SLF001
# The owner of a table may set its guard aside; an application that is not its owner may not.
_EMPTY = """
ALTER TABLE {0} DISABLE TRIGGER USER; DELETE FROM {0}; ALTER TABLE {0} ENABLE TRIGGER USER
"""


def record_of(scope: object, key: str) -> Record | None:
    """What is on record. `scope` is the user, its primary key, or whatever SCOPE returns for it."""
    row = store.read(_scope(scope), key)
    return None if row is None else row.record


def expire_lease(scope: object, key: str) -> None:
    """The lease of a leased key is over, and the next check of a held one is due.

    What was killed or frozen may be taken over from now on, by a retry or by the sweep. Raises
    AssertionError if the key is neither leased nor held.
    """
    if not _changed(_EXPIRE, scope, key):
        raise AssertionError(f"the key has no lease that could expire: it is {_state(scope, key)}")


def held(scope: object, key: str, *, reason: str = "its answer was lost, says a test") -> None:
    """Put a leased key on hold, due for a check: nobody knows whether its call had an effect.

    Raises AssertionError if the key is not leased; `killed_at("leased.called", …)` leaves one that is.
    """
    if not _changed(_HOLD, scope, key, reason=reason):
        raise AssertionError(f"only a leased key can be held: it is {_state(scope, key)}")


def clean_keys() -> None:
    """Forget every key, in the database and in the whole cache that IDEMPOTENCY names.

    With them go the trail and the spent tokens, which nobody can delete otherwise: a row of theirs
    stops the flush after a TransactionTestCase. So call it at the end of a test that writes them
    (`self.addCleanup(clean_keys)`, or a fixture).
    """
    IdempotencyKey.objects.using(store.alias(None)).all().delete()
    with connections[store.alias(None)].cursor() as cursor:
        for table in _APPEND_ONLY:
            cursor.execute(_EMPTY.format(table))
    alias = conf.current().cache
    if alias is not None:
        caches[alias].clear()


def _scope(who: object) -> UUID:
    return scope_of(getattr(who, "pk", who))


def _changed(statement: str, who: object, key: str, **values: Any) -> bool:
    with connections[store.alias(None)].cursor() as cursor:
        cursor.execute(statement, store.names(_scope(who), key) | values)
        return bool(cursor.rowcount)


def _state(who: object, key: str) -> str:
    record = record_of(who, key)
    if record is None:
        return "not on record (another scope, or rolled back with its request)"
    if record.held_at is not None:
        return "held"
    return "deferred" if record.answer is None else f"finished ({record.status})"
