"""Signs of life: written by whoever did it, read by whoever watches."""

from django.db import connection

# The row is made by the first one. Two at once: the second waits, and both are counted.
PULSE = """
INSERT INTO fulfilment_pulse (name, at, count) VALUES (%(name)s, clock_timestamp(), 1)
    ON CONFLICT (name) DO UPDATE SET at = clock_timestamp(), count = fulfilment_pulse.count + 1
"""


def pulse(name: str) -> None:
    """Say that it happened, at this moment, once more. Last in a transaction, or outside of any:
    its row is locked until the end.
    """
    with connection.cursor() as cursor:
        cursor.execute(PULSE, {"name": name})
