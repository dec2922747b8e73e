"""Asks the provider what it has under our reference: by the schedule, or because a person wants it.

The question is put outside any transaction. Its answer is evidence, and `resolve` judges it.
"""

import logging
from typing import Any

from django.db import transaction
from django.db.models import F

from fulfilment import store
from fulfilment.conf import conf
from fulfilment.connectors import registry
from fulfilment.connectors.base import Connector, LookUp, NoInformation, NotFound
from fulfilment.errors import VerdictRefused
from fulfilment.models import CaseAction, Evidence, Fulfilment
from fulfilment.reconcile import casebook, people, resolve, timing
from fulfilment.reconcile.evidence import CONCLUSIVE, Finding, Source, statement_of
from fulfilment.reconcile.pace import Pacer
from fulfilment.reconcile.record import record
from fulfilment.states import State

log = logging.getLogger(__name__)


def look_up_due() -> int:
    """Make the look-ups that are due, within each connector's budget. Returns how many.

    One round at a time, whoever starts it: the budget is for all workers together. A connector
    that gives no information several times in a row is left alone for this run, so that one dead
    provider does not use up the time of the others.
    """
    with store.alone("fulfilment.look_up") as mine:
        if not mine:
            return 0
        done = _round()
        store.pulse("look_up")
        return done


def ask(fulfilment_id: int, *, actor: Any) -> Evidence:
    """Ask the provider now, for a person. Returns what it said; a conclusive answer is applied.

    Raises `NotAllowed` without the permission `fulfilment.ask_provider`, and `VerdictRefused`
    where this provider cannot be asked.
    """
    name = people.require(actor, people.ASK)
    row = Fulfilment.objects.get(pk=fulfilment_id)
    evidence = query(row, actor=name)
    if evidence is None:
        raise VerdictRefused("This provider cannot be asked by reference.")
    _note_on_case(row, evidence, actor=name)
    resolve.resolve(row.pk, news=[evidence.pk])
    return evidence


def query(row: Fulfilment, *, actor: str) -> Evidence | None:
    """Ask and record, judging nothing. None where the provider has no look-up by reference."""
    connector = registry.connector(row.connector)
    if not connector.capabilities.lookup_by_reference:
        return None
    answer = _ask(connector, row.reference)
    canary = isinstance(answer, NotFound) and _canary_found(connector, row)
    return record(row, statement_of(answer), source=Source.LOOKUP, actor=actor, canary=canary)


def _round() -> int:
    settings = conf()
    pacer = Pacer(per_second=settings.lookups_per_second)
    for done in range(settings.batch):
        pk = store.take_due_lookup(
            meanwhile=2 * settings.total_deadline + settings.margin, without=pacer.tired
        )
        if pk is None:
            return done
        _guarded(pk, pacer=pacer)
    return settings.batch


def _guarded(pk: int, *, pacer: Pacer) -> None:
    """One row that fails must not keep the others; it is due again after `meanwhile`."""
    try:
        _look_up(pk, pacer=pacer)
    except Exception:
        log.exception("look-up failed", extra={"action": "look_up_failed", "id": pk})


def _look_up(pk: int, *, pacer: Pacer) -> None:
    row = Fulfilment.objects.get(pk=pk)
    pacer.wait(row.connector)
    evidence = query(row, actor=resolve.RESOLVER)
    if evidence is not None and evidence.finding == Finding.NOT_FOUND:
        pacer.owe(row.connector)  # the canary was asked for as well
    informed = evidence is None or evidence.finding != Finding.NO_INFORMATION
    pacer.heard(row.connector, informed=informed)
    if informed:
        waiting = Fulfilment.objects.filter(pk=pk, state=State.NEEDS_RECONCILIATION)
        waiting.update(checks=F("checks") + 1)
    now = resolve.resolve(pk, news=[evidence.pk] if evidence else [], asked=True)
    if not State(now.state).is_open:
        with transaction.atomic():
            timing.recheck_again(pk)


def _ask(connector: Connector, reference: str) -> LookUp:
    try:
        return connector.look_up(reference)
    except Exception as error:
        log.exception("look-up raised", extra={"action": "connector_raised"})
        return NoInformation(reason=f"the connector raised {type(error).__name__}")


def _canary_found(connector: Connector, row: Fulfilment) -> bool:
    """Is a reference that must be there found, just now, in the same way?

    It proves that the key, the mode and the endpoint are the right ones; without it, "not found"
    says nothing.
    """
    known = Evidence.objects.filter(
        fulfilment__connector=row.connector,
        fulfilment__state=State.FULFILLED,
        conclusive=True,
        finding=Finding.DONE,
    ).exclude(source=Source.PERSON)
    newest = known.exclude(fulfilment=row).order_by("-id").first()
    if newest is None:
        return False
    found = statement_of(_ask(connector, newest.fulfilment.reference))
    return found.finding in CONCLUSIVE or found.finding is Finding.ACCEPTED


def _note_on_case(row: Fulfilment, evidence: Evidence, *, actor: str) -> None:
    if case := casebook.current(row):
        note = evidence.get_finding_display()
        casebook.write(case, CaseAction.Action.ASKED, actor=actor, note=note)
