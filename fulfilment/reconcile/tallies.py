"""Counts what is rare and telling, each time once, after the transaction in which it was learnt."""

from functools import partial

from django.db import transaction

from fulfilment import store
from fulfilment.models import CaseReason, Evidence, Fulfilment
from fulfilment.reconcile.evidence import Finding, Source
from fulfilment.states import FREES_THE_PAYMENT

# Whoever tells of a reference without having just sent it.
_ASKED = frozenset(Source) - {Source.RESPONSE, Source.PERSON, Source.SWEEP}
_EMPTY = (Finding.NOT_FOUND, Finding.NO_INFORMATION)


def conflict() -> None:
    """A contradiction goes to a person."""
    _count("conflict")


def late_success(row: Fulfilment) -> None:
    """The provider says done of what was given up: once per row, before its case is opened."""
    known = row.cases.filter(reason=CaseReason.CONFLICT).exists()
    if row.state in FREES_THE_PAYMENT and not known:
        _count("late_success")


def found(evidence: Evidence) -> None:
    """The provider has it, and when it was last asked it had not: an absence was none."""
    if evidence.source not in _ASKED or evidence.finding in _EMPTY:
        return
    before = Evidence.objects.filter(
        fulfilment=evidence.fulfilment_id, source=Source.LOOKUP, pk__lt=evidence.pk
    ).exclude(finding=Finding.NO_INFORMATION)
    last = before.order_by("-pk").values_list("finding", flat=True).first()
    if last == Finding.NOT_FOUND:
        _count("found_after_not_found")


def _count(name: str) -> None:
    transaction.on_commit(partial(store.pulse, name), robust=True)
