"""How often a connector is called, over all processes: the look-ups' budget, and the breaker.

Both stand in one row of the database per connector. Nothing here waits inside a transaction, and a
caller inside one would keep the others waiting for its end.
"""

import time
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models.functions import Now  # the statement's, not the transaction's

from fulfilment import store
from fulfilment.conf import conf
from fulfilment.connectors.base import NotSent, Outcome, Unknown
from fulfilment.models import ConnectorStanding
from fulfilment.reconcile import breaker
from fulfilment.reconcile.breaker import Breaker, Rules, Turn


def take(connector: str, *, patience: timedelta) -> bool:
    """Wait for a turn to ask. False, at once and taking none, if it is further off than `patience`."""
    distance = timedelta(seconds=1 / conf().lookups_per_second)
    wait = store.take_turn(connector, distance=distance, patience=patience)
    if wait is None:
        return False
    time.sleep(max(wait.total_seconds(), 0))
    return True


def may_call(connector: str) -> bool:
    """Is the breaker closed, or is this caller the one who tries it? That one has to say `heard`."""
    row = ConnectorStanding.objects.filter(pk=connector).first()
    if row is None or row.open_until is None:
        return True
    return breaker.turn(_breaker(row), now=store.now()) is not Turn.WAIT and _try(connector)


def heard(connector: str, *, informed: bool) -> None:
    """Note whether a call brought an answer, of whatever kind. Writes nothing while all goes well."""
    if informed:
        failed = ConnectorStanding.objects.filter(pk=connector, failures__gt=0)
        failed.update(failures=0, open_until=None)
        return
    ConnectorStanding.objects.bulk_create([ConnectorStanding(pk=connector)], ignore_conflicts=True)
    with transaction.atomic():
        _write(connector, breaker.failed(_locked(connector), now=store.now(), rules=_rules()))


def is_answer(outcome: Outcome) -> bool:
    """Did the provider say anything when it was sent something?

    A refusal is an answer: it comes at once, it may be about one payment only (our own balance), and
    its row backs off by itself. The breaker is for what does not answer.
    """
    return not isinstance(outcome, NotSent | Unknown)


def open_until(connector: str) -> datetime | None:
    """The end of its rest, where nobody may call this connector now."""
    row = ConnectorStanding.objects.filter(pk=connector, open_until__gt=Now()).first()
    return row.open_until if row else None


def at_rest() -> list[ConnectorStanding]:
    """The connectors that nobody may call now, with their failures in a row."""
    rows = ConnectorStanding.objects.filter(open_until__gt=Now())
    return list(rows.order_by("name"))


def _try(connector: str) -> bool:
    """Of all who come when the rest is over, one. The others see what it wrote."""
    with transaction.atomic():
        seen, now = _locked(connector), store.now()
        turn = breaker.turn(seen, now=now)
        if turn is Turn.TRY:
            _write(connector, breaker.tried(seen, now=now, rules=_rules()))
        return turn is not Turn.WAIT


def _locked(connector: str) -> Breaker:
    rows = ConnectorStanding.objects.select_for_update(no_key=True)
    return _breaker(rows.get(pk=connector))


def _write(connector: str, now: Breaker) -> None:
    row = ConnectorStanding.objects.filter(pk=connector)
    row.update(failures=now.failures, open_until=now.open_until)


def _breaker(row: ConnectorStanding) -> Breaker:
    return Breaker(failures=row.failures, open_until=row.open_until)


def _rules() -> Rules:
    return Rules(after=conf().breaker_after, rest=conf().breaker_open)
