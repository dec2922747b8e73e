"""The life of one attempt: marked, closed by its worker, closed over its head."""

from datetime import timedelta
from uuid import UUID

from django.db import connection

from fulfilment.models import Attempt
from fulfilment.store.statements import changed

# The mark that lets a call be made. It loses against the sweeper (closed_at), against a second
# mark (sent_at) and against a worker that woke up too late for its call to end within its lease.
MARK_SENT = """
UPDATE fulfilment_attempt SET sent_at = clock_timestamp()
 WHERE token = %(token)s
   AND closed_at IS NULL
   AND sent_at IS NULL
   AND clock_timestamp() + %(call)s <= lease_until
"""

# The worker's own end of its attempt; 0 rows: somebody took it over.
CLOSE = """
UPDATE fulfilment_attempt SET closed_at = clock_timestamp(), outcome = %(outcome)s
 WHERE token = %(token)s AND closed_at IS NULL
"""

# Closing and learning whether it was sent are ONE statement: it waits for a mark that is not yet
# committed and then sees it, where a read before the update would have missed it.
CLOSE_EXPIRED = """
UPDATE fulfilment_attempt
   SET closed_at = clock_timestamp(),
       outcome = CASE WHEN sent_at IS NULL THEN 'unsent' ELSE 'lost' END
 WHERE fulfilment_id = %(fulfilment)s AND closed_at IS NULL AND lease_until <= clock_timestamp()
RETURNING id
"""

# After a restored backup its mark, and its call, may be among what was lost: it counts as sent.
CLOSE_DOUBTED = """
UPDATE fulfilment_attempt
   SET closed_at = clock_timestamp(), outcome = 'lost', maybe_sent = true
 WHERE fulfilment_id = %(fulfilment)s AND closed_at IS NULL
"""

LOST = "lost"  # how an attempt is closed that may have arrived and of which nobody knows more


def mark_sent(token: UUID, *, call: timedelta) -> bool:
    """True: the call may be made, and everybody will know that it may have been."""
    return changed(MARK_SENT, {"token": token, "call": call})


def close(token: UUID, *, outcome: str) -> bool:
    """False: the token is dead, and its holder may decide nothing any more."""
    return changed(CLOSE, {"token": token, "outcome": outcome})


def close_expired(fulfilment_id: int) -> Attempt | None:
    """Close the attempt whose lease is over; the answer knows whether it was sent."""
    with connection.cursor() as cursor:
        cursor.execute(CLOSE_EXPIRED, {"fulfilment": fulfilment_id})
        row = cursor.fetchone()
    return Attempt.objects.get(pk=row[0]) if row else None


def close_doubted(fulfilment_id: int) -> bool:
    """Close the open attempt as one that may have been sent, marked or not; False: none is open."""
    return changed(CLOSE_DOUBTED, {"fulfilment": fulfilment_id})
