"""The rows of a case: opened once, written to, closed. Who may do what is `cases`'."""

import logging

from django.db.models import F

from fulfilment import store
from fulfilment.models import Case, CaseAction, CaseReason, Fulfilment

log = logging.getLogger(__name__)


def open_case(row: Fulfilment, *, reason: CaseReason, actor: str, note: str = "") -> Case:
    """The open case of `row`, opened now if there is none. Under the row's lock."""
    case = current(row)
    if case is not None:
        return case
    at = store.now()
    case = Case.objects.create(fulfilment=row, reason=reason, opened_at=at, opened_by=actor)
    write(case, CaseAction.Action.OPENED, actor=actor, note=note)
    log.warning(
        "case opened",
        extra={"action": "case_opened", "reference": row.reference, "reason": reason.value},
    )
    return case


def close_case(row: Fulfilment, *, actor: str, note: str) -> None:
    """Close the open case, if there is one: the row is settled."""
    case = current(row)
    if case is None:
        return
    write(case, CaseAction.Action.CLOSED, actor=actor, note=note)
    Case.objects.filter(pk=case.pk, closed_at__isnull=True).update(
        closed_at=store.now(), closed_by=actor, version=F("version") + 1
    )
    log.info(
        "case closed", extra={"action": "case_closed", "reference": row.reference, "actor": actor}
    )


def current(row: Fulfilment) -> Case | None:
    """The open case of `row`."""
    return row.cases.filter(closed_at__isnull=True).first()


def write(
    case: Case,
    action: CaseAction.Action,
    *,
    actor: str,
    verdict: str = "",
    evidence_reference: str = "",
    note: str = "",
) -> CaseAction:
    """Add what was done to the case's record."""
    return CaseAction.objects.create(
        case=case,
        action=action,
        actor=actor,
        verdict=verdict,
        evidence_reference=evidence_reference,
        note=note,
        acted_at=store.now(),
    )
