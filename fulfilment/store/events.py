"""What a provider told us: each event once, and what contradicts it."""

from typing import Any

from django.db import connection

from fulfilment.models import ProviderEvent
from fulfilment.store.statements import changed

# The event and its body, in one round trip; no row: it is on record. Where another delivery of it is
# just being stored, this waits for that one's end, so a *later* statement sees its row.
INSERT_EVENT = """
WITH event AS (
    INSERT INTO provider_event
           (provider, account, livemode, dedupe_key, type, digest, reference, status, reason, checks,
            received_at, next_check_at)
    SELECT %(provider)s, %(account)s, %(livemode)s, %(dedupe_key)s, %(type)s, %(digest)s,
           %(reference)s, CASE WHEN %(waits)s THEN 'received' ELSE 'ignored' END, '', 0,
           clock_timestamp(), CASE WHEN %(waits)s THEN clock_timestamp() END
        ON CONFLICT DO NOTHING
 RETURNING id
), payload AS (
    INSERT INTO provider_event_payload (event_id, body) SELECT id, %(body)s FROM event
)
SELECT id FROM event
"""

# What else came under an event's name, each content once.
INSERT_CONFLICT = """
INSERT INTO provider_event_conflict (event_id, digest, body, received_at)
VALUES (%(event)s, %(digest)s, %(body)s, clock_timestamp())
    ON CONFLICT DO NOTHING
"""


def insert_event(**values: Any) -> int | None:
    """The id of the event that was put on record now; None: it is there already.

    `values`: provider, account, livemode, dedupe_key, type, digest, reference, body, and `waits`,
    whether it has to be applied.
    """
    with connection.cursor() as cursor:
        cursor.execute(INSERT_EVENT, values)
        row = cursor.fetchone()
    return row[0] if row else None


def insert_conflict(event_id: int, *, digest: str, body: bytes) -> bool:
    """True: nobody had seen this content under that event's name."""
    return changed(INSERT_CONFLICT, {"event": event_id, "digest": digest, "body": body})


def lock_event(event_id: int) -> ProviderEvent:
    """The event, locked until the transaction ends. Always before the fulfilment it is about."""
    return ProviderEvent.objects.select_for_update(no_key=True).get(pk=event_id)
