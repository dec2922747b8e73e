"""The bodies of what was said, taken away once nobody needs them; what is known of them stays."""

from datetime import timedelta

from django.db import connection

_LONG_AGO = "statement_timestamp() - make_interval(secs => %(kept)s)"

# A payment that was decided so long ago, and of which no case was open since. Every later verdict (a
# reversal, a correction) begins the time anew.
_OVER = f"""
       f.decided_at < {_LONG_AGO}
   AND NOT EXISTS (SELECT FROM fulfilment_case AS c
                    WHERE c.fulfilment_id = f.id
                      AND (c.closed_at IS NULL OR c.closed_at >= {_LONG_AGO}))
"""

# Evidence that came late has the whole time for itself. In all three SKIP LOCKED: two at once take
# different rows.
DELETE_OF_EVIDENCE = f"""
DELETE FROM fulfilment_payload WHERE evidence_id = ANY (ARRAY(
    SELECT p.evidence_id
      FROM fulfilment_payload AS p
      JOIN fulfilment_evidence AS e ON e.id = p.evidence_id
      JOIN fulfilment AS f ON f.id = e.fulfilment_id
     WHERE e.recorded_at < {_LONG_AGO} AND {_OVER}
     ORDER BY p.evidence_id LIMIT %(batch)s
       FOR UPDATE OF p SKIP LOCKED))
"""

# An event that was given up or set aside may be applied again for as long as its body is there, so
# it has a longer term of its own. One that waits keeps its body in any case (trigger); the event's
# lock keeps a replay from beginning in between.
_EVENT_OVER = f"""
       ev.received_at < statement_timestamp()
           - make_interval(secs => CASE WHEN ev.status IN ('dead', 'set_aside')
                                       THEN %(unapplied_kept)s ELSE %(kept)s END)
   AND ev.status NOT IN ('received', 'parked')
   AND (ev.fulfilment_id IS NULL
        OR EXISTS (SELECT FROM fulfilment AS f WHERE f.id = ev.fulfilment_id AND {_OVER}))
"""
DELETE_OF_EVENTS = f"""
DELETE FROM provider_event_payload WHERE event_id = ANY (ARRAY(
    SELECT p.event_id
      FROM provider_event_payload AS p
      JOIN provider_event AS ev ON ev.id = p.event_id
     WHERE {_EVENT_OVER}
     ORDER BY p.event_id LIMIT %(batch)s
       FOR UPDATE OF p, ev SKIP LOCKED))
"""

# What contradicts an event is kept as long as the event's own body, and until its case was opened.
EMPTY_CONFLICTS = f"""
UPDATE provider_event_conflict SET body = NULL WHERE id = ANY (ARRAY(
    SELECT x.id
      FROM provider_event_conflict AS x
      JOIN provider_event AS ev ON ev.id = x.event_id
     WHERE x.body IS NOT NULL AND x.raised_at IS NOT NULL
       AND x.received_at < {_LONG_AGO} AND {_EVENT_OVER}
     ORDER BY x.id LIMIT %(batch)s
       FOR UPDATE OF x SKIP LOCKED))
"""


def take_bodies(statement: str, *, kept: timedelta, unapplied_kept: timedelta, batch: int) -> int:
    """Run one of the statements above; how many bodies it took away."""
    values: dict[
        str, float
    ] = {  # in seconds: "90 days" would be calendar days of the session's time zone
        "kept": kept.total_seconds(),
        "unapplied_kept": unapplied_kept.total_seconds(),
        "batch": batch,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)
