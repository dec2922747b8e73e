"""Asks the provider what it has under our reference: by the schedule, or because a person wants it.

The question is put outside any transaction. Its answer is evidence, and `resolve` judges it.
"""

import logging
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from fulfilment import store
from fulfilment.conf import conf
from fulfilment.connectors import registry
from fulfilment.connectors.base import Connector, LookUp, NoInformation, NotFound
from fulfilment.errors import NotAskedNow, VerdictRefused
from fulfilment.models import CaseAction, Evidence, Fulfilment
from fulfilment.reconcile import budget, casebook, people, resolve, timing
from fulfilment.reconcile.evidence import CONCLUSIVE, Finding, Source, statement_of
from fulfilment.reconcile.record import record
from fulfilment.states import State

log = logging.getLogger(__name__)

PATIENCE = timedelta(seconds=2)  # of a person in front of a page, and of an event
GIVE_UP_AFTER = 3  # answers without information in a row, in one round
# As long as a round waits for one turn: others may ask meanwhile, but there is always a next one.
_TURN = timedelta(seconds=10)


def look_up_due() -> int:
    """Make the look-ups that are due, within each connector's budget. Returns how many rows it saw.

    One round at a time, whoever starts it. A connector that gives no information several times in a
    row is left alone for this run, so that one dead provider does not use up the time of the others
    before its breaker opens.
    """
    with store.alone("fulfilment.look_up") as mine:
        if not mine:
            return 0
        done = _round()
        store.pulse("look_up")
        return done


def ask(fulfilment_id: int, *, actor: Any) -> Evidence:
    """Ask the provider now, for a person. Returns what it said; a conclusive answer is applied.

    Raises `NotAllowed` without the permission `fulfilment.ask_provider`, `NotAskedNow` where the
    budget or the breaker is against it, and `VerdictRefused` where this provider cannot be asked.
    """
    name = people.require(actor, people.ASK)
    row = Fulfilment.objects.get(pk=fulfilment_id)
    evidence = query(row, actor=name)
    if evidence is None:
        raise VerdictRefused("This provider cannot be asked by reference.")
    _note_on_case(row, evidence, actor=name)
    resolve.resolve(row.pk, news=[evidence.pk])
    return evidence


def query(row: Fulfilment, *, actor: str, patience: timedelta = PATIENCE) -> Evidence | None:
    """Ask and record, judging nothing. None where the provider has no look-up by reference.

    Raises `NotAskedNow`: its breaker is open, or its next turn is further off than `patience`.
    """
    connector = registry.connector(row.connector)
    if not connector.capabilities.lookup_by_reference:
        return None
    _wait_for_turn(row.connector, patience=patience)
    at = store.now()  # before the question: a pause after it must not make the answer younger
    answer = _ask(row.connector, connector, row.reference)
    canary = isinstance(answer, NotFound) and _canary_found(connector, row, patience=patience)
    said = statement_of(answer)
    return record(row, said, source=Source.LOOKUP, actor=actor, canary=canary, asked_at=at)


@dataclass(frozen=True, slots=True)
class _Tour:
    """What one round remembers of the connectors."""

    silent: Counter[str] = field(default_factory=Counter)  # answers without information in a row
    served: set[str] = field(default_factory=set)  # since each that has due rows had its turn

    def given_up(self) -> set[str]:
        return {name for name, times in self.silent.items() if times >= GIVE_UP_AFTER}


def _round() -> int:
    settings, tour = conf(), _Tour()
    for done in range(settings.batch):
        pk = _next(tour)
        if pk is None:
            return done
        _guarded(pk, tour)
    return settings.batch


def _next(tour: _Tour) -> int | None:
    """A row that is due: of a connector that may be asked at once, and by turns.

    So the rows of one provider stand in the queue neither for the turns of another nor behind all
    the rows of one that answers slowly.
    """
    given_up = tour.given_up()
    busy = {*given_up, *store.busy_connectors()}
    for left_out in (busy | tour.served, busy, given_up):
        pk = store.take_due_lookup(meanwhile=_meanwhile(), without=list(left_out))
        if pk is not None:
            return pk
        tour.served.clear()
    return None


def _meanwhile() -> timedelta:
    """Two questions, each with its turn and its deadline."""
    return 2 * (conf().total_deadline + _TURN) + conf().margin


def _guarded(pk: int, tour: _Tour) -> None:
    """One row that fails must not keep the others; it is due again after `meanwhile`."""
    try:
        _look_up(pk, tour)
    except Exception:
        log.exception("look-up failed", extra={"action": "look_up_failed", "id": pk})


def _look_up(pk: int, tour: _Tour) -> None:
    row = Fulfilment.objects.get(pk=pk)
    tour.served.add(row.connector)
    try:
        evidence = query(row, actor=resolve.RESOLVER, patience=_TURN)
    except NotAskedNow as why:
        _leave(pk, until=why.until)
        return
    informed = evidence is None or evidence.finding != Finding.NO_INFORMATION
    tour.silent[row.connector] = 0 if informed else tour.silent[row.connector] + 1
    if informed:
        waiting = Fulfilment.objects.filter(pk=pk, state=State.NEEDS_RECONCILIATION)
        waiting.update(checks=F("checks") + 1)
    now = resolve.resolve(pk, news=[evidence.pk] if evidence else [], asked=True)
    if not State(now.state).is_open:
        with transaction.atomic():
            timing.recheck_again(pk)


def _leave(pk: int, *, until: datetime | None) -> None:
    """Not asked, so it keeps its place in the schedule; what is overdue for a person goes there."""
    resolve.resolve(pk)
    timing.leave_until(pk, until=until or store.now())


def _wait_for_turn(connector: str, *, patience: timedelta) -> None:
    """The turn first: whoever is the one to try has to be heard of again."""
    if until := budget.open_until(connector):
        raise _rests(connector, until)
    if not budget.take(connector, patience=patience):
        raise NotAskedNow(
            f"{connector} is asked as often as it allows just now. Try again in a few seconds."
        )
    if not budget.may_call(connector):
        raise _rests(connector, budget.open_until(connector))


def _rests(connector: str, until: datetime | None) -> NotAskedNow:
    again = f"at {until:%H:%M:%S} UTC" if until else "in a moment"
    return NotAskedNow(
        f"{connector} gave no answer several times in a row. It is asked again {again}.",
        until=until,
    )


def _ask(name: str, connector: Connector, reference: str) -> LookUp:
    try:
        answer = connector.look_up(reference)
    except Exception as error:
        log.exception("look-up raised", extra={"action": "connector_raised"})
        answer = NoInformation(reason=f"the connector raised {type(error).__name__}")
    budget.heard(name, informed=not isinstance(answer, NoInformation))
    return answer


def _canary_found(connector: Connector, row: Fulfilment, *, patience: timedelta) -> bool:
    """Is a reference that must be there found, just now, in the same way?

    It proves that the key, the mode and the endpoint are the right ones; without it, "not found"
    says nothing. It is a question like any other: without a turn for it, nothing is proven.
    """
    known = Evidence.objects.filter(
        fulfilment__connector=row.connector,
        fulfilment__state=State.FULFILLED,
        conclusive=True,
        finding=Finding.DONE,
    ).exclude(source=Source.PERSON)
    newest = known.exclude(fulfilment=row).order_by("-id").first()
    if newest is None or not budget.take(row.connector, patience=patience):
        return False
    found = statement_of(_ask(row.connector, connector, newest.fulfilment.reference))
    return found.finding in CONCLUSIVE or found.finding is Finding.ACCEPTED


def _note_on_case(row: Fulfilment, evidence: Evidence, *, actor: str) -> None:
    if case := casebook.current(row):
        note = evidence.get_finding_display()
        casebook.write(case, CaseAction.Action.ASKED, actor=actor, note=note)
