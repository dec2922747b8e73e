"""`gate.claim_many`: a thousand small actions at once, each told what became of it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError, InterfaceError, transaction

from idempotency.gate import bulk, errors, slots
from idempotency.gate.identity import Identity, identity_of

MOST_ITEMS = 1_000  # items of one call: what one statement handles well within its time-out


class Verdict(StrEnum):
    """What became of one item."""

    RECORDED = "recorded"  # now, for the first time
    DEDUPLICATED = "deduplicated"  # before, with the same values; nothing was changed
    CONFLICT = "conflict"  # before, with other values; those stand


@dataclass(frozen=True, slots=True)
class Item:
    """One action of many: its own id, and the values that a second sending has to repeat."""

    key: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an item; `differing` names the values that a conflict is about."""

    key: str
    verdict: Verdict
    differing: tuple[str, ...] = ()


def claim_many(
    action: str, items: Sequence[Item], *, namespace: str | None = None
) -> list[Outcome]:
    """Claim and settle every item in one statement; one outcome per item, in their order.

    Recorded is an item whose key nobody has used for this action in this namespace; its values are
    kept as the result of its slot. An item that is twice in the list is recorded once. Joins the
    caller's transaction, so that what is done for the recorded items commits with them; another call
    with the same keys waits for its end. Values are compared as JSON.

    Raises ValueError for more than 1,000 items or for a key or values that cannot be stored, before
    anything is written; InProgress or Held if `gate.claim` has one of them open; Closed if the log
    cannot be read.
    """
    if len(items) > MOST_ITEMS:
        raise ValueError(
            f"At most {MOST_ITEMS:,} items in one call, not {len(items):,}. Split them."
        )
    given = [(_identity(action, item, namespace), _given(item.values)) for item in items]
    first: dict[Identity, str] = {}
    for identity, values in given:
        first.setdefault(identity, values)
    try:
        with transaction.atomic(using=slots.alias()):
            recorded = bulk.settle_new(first)
            standing = _standing(identity for identity in first if identity not in recorded)
    except (DatabaseError, InterfaceError) as error:
        raise errors.Closed from error
    return _outcomes(given, recorded=recorded, standing={**first, **standing})


def _standing(missed: Iterable[Identity]) -> dict[Identity, str]:
    """The values on record, in a later statement: only that sees what the insert ran into."""
    wanted = list(missed)
    found = bulk.read(wanted) if wanted else {}
    for identity in wanted:
        state, values = found.get(identity, ("claimed", None))  # released just now: come again
        if state == "held":
            raise errors.Held(slot=identity.slot)
        if state == "claimed":
            raise errors.InProgress(slot=identity.slot)
        found[identity] = (state, values)
    return {identity: values or "null" for identity, (_, values) in found.items()}


def _outcomes(
    given: list[tuple[Identity, str]],
    *,
    recorded: set[Identity],
    standing: Mapping[Identity, str],
) -> list[Outcome]:
    outcomes, fresh = [], set(recorded)
    for identity, values in given:
        if identity in fresh:  # the first of its key in this list
            fresh.discard(identity)
            outcomes.append(Outcome(identity.key, Verdict.RECORDED))
        elif differing := _differing(values, standing[identity]):
            outcomes.append(Outcome(identity.key, Verdict.CONFLICT, differing))
        else:
            outcomes.append(Outcome(identity.key, Verdict.DEDUPLICATED))
    return outcomes


def _differing(values: str, recorded: str) -> tuple[str, ...]:
    """The names of the values that are not the same JSON: 1 is neither 1.0 nor true."""
    if values == recorded:
        return ()
    new, old = json.loads(values), json.loads(recorded)
    if not isinstance(old, dict):
        return tuple(sorted(new)) or ("values",)
    return tuple(
        name
        for name in sorted({*new, *old})
        if name not in new or name not in old or _encoded(new[name]) != _encoded(old[name])
    )


def _identity(action: str, item: Item, namespace: str | None) -> Identity:
    identity = identity_of(action, key=item.key, namespace=namespace)
    if identity is None:  # a key of None
        raise ValueError("An item without a key has no identity.")
    return identity


def _given(values: Any) -> str:
    try:
        return _encoded(values)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"The values of an item are no JSON: {error}") from error


def _encoded(values: Any) -> str:
    """One text per value: names sorted."""
    return json.dumps(values, cls=DjangoJSONEncoder, sort_keys=True)
