"""The statements on many slots at once."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import connections

from idempotency.gate.identity import Identity
from idempotency.gate.slots import alias

# One statement for all of them. In the order of their slots, so that two lists that share items
# wait for each other and never in a circle.
SETTLE_NEW = """
INSERT INTO idempotency_actions
       (slot, action, target, key, namespace, state, result, claimed_at, settled_at)
SELECT slot, action, '', key, namespace, 'settled', result, clock_timestamp(), clock_timestamp()
  FROM unnest(%(slots)s::text[], %(actions)s::text[], %(keys)s::text[], %(namespaces)s::text[],
              %(results)s::text[]) AS given (slot, action, key, namespace, result)
 ORDER BY slot, key
    ON CONFLICT DO NOTHING
RETURNING action, key, namespace
"""

# By the slot's index; the whole identity is compared by whoever looks them up in what comes back.
READ = """
SELECT action, target, key, namespace, state, result
  FROM idempotency_actions WHERE slot = ANY(%(slots)s)
"""


def settle_new(values: Mapping[Identity, str]) -> set[Identity]:
    """Take and settle every slot that is free; the identities of those."""
    identities = list(values)
    given: dict[str, Any] = {
        "slots": [identity.slot for identity in identities],
        "actions": [identity.action for identity in identities],
        "keys": [identity.key for identity in identities],
        "namespaces": [identity.namespace for identity in identities],
        "results": list(values.values()),
    }
    with connections[alias()].cursor() as cursor:
        cursor.execute(SETTLE_NEW, given)
        rows = cursor.fetchall()
    return {Identity(action, key=key, namespace=within) for action, key, within in rows}


def read(identities: Iterable[Identity]) -> dict[Identity, tuple[str, str | None]]:
    """State and result of each that has a row, as committed now."""
    with connections[alias()].cursor() as cursor:
        cursor.execute(READ, {"slots": [identity.slot for identity in identities]})
        rows = cursor.fetchall()
    return {
        Identity(action, target=target, key=key, namespace=within): (state, result)
        for action, target, key, within, state, result in rows
    }
