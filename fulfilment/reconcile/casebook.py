"""The rows of a case: opened once, written to, closed. Who may do what is `cases`'."""

import logging

from django.db.models import F, QuerySet

from fulfilment import signals, store
from fulfilment.models import Case, CaseAction, CaseReason, Fulfilment
from fulfilment.reconcile import tallies

log = logging.getLogger(__name__)

# What is not named here is about the outcome itself, and a person must see it first.
_GRAVITY = {
    CaseReason.OPENED_BY_AGENT: 0,
    CaseReason.DEADLINE: 1,
    CaseReason.PENDING_TOO_LONG: 1,
    CaseReason.NOT_FOUND: 2,
    CaseReason.CANNOT_ASK: 2,
    CaseReason.CRASHES: 2,
}
_GRAVEST = 3


def open_case(row: Fulfilment, *, reason: CaseReason, actor: str, note: str = "") -> Case:
    """The open case of `row`, opened now if there is none. Under the row's lock.

    What an open case does not know yet is written to it, and a graver reason becomes its reason.
    """
    case = current(row)
    if case is not None:
        return _add(case, reason=reason, actor=actor, note=note)
    at = store.now()
    case = Case.objects.create(fulfilment=row, reason=reason, opened_at=at, opened_by=actor)
    write(case, CaseAction.Action.OPENED, actor=actor, note=_words(reason, note))
    log.warning(
        "case opened",
        extra={"action": "case_opened", "reference": row.reference, "reason": reason.value},
    )
    signals.after_commit(
        signals.case_opened,
        sender=row.kind,
        reference=row.reference,
        reason=reason.value,
        actor=actor,
        case=case.pk,
    )
    _count(reason)
    return case


def close_case(row: Fulfilment, *, actor: str, note: str) -> None:
    """Close the open case, if there is one: the row is settled, and no proposal is open any more."""
    case = current(row)
    if case is None:
        return
    if proposal := standing(case):
        write(case, CaseAction.Action.VOIDED, actor=actor, verdict=proposal.verdict, note=note)
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


def standing(case: Case) -> CaseAction | None:
    """The proposal of a verdict that waits for a second person; None where none does."""
    last = about_proposals().filter(case=case).first()
    return last if last is not None and last.action == CaseAction.Action.PROPOSED else None


def about_proposals() -> QuerySet[CaseAction]:
    """What proposes a verdict or ends a proposal, newest first."""
    return CaseAction.objects.filter(action__in=_PROPOSALS).order_by("-id")


def file(row: Fulfilment, action: CaseAction.Action, *, actor: str, **said: str) -> None:
    """Write what belongs to a settled row into its open or else its newest case, once.

    Where there never was one, it is opened for this and closed again.
    """
    case = current(row) or row.cases.order_by("-id").first()
    if case is not None:
        if not case.actions.filter(action=action, actor=actor, **said).exists():
            write(case, action, actor=actor, **said)
        return
    case = open_case(row, reason=CaseReason.OPENED_BY_AGENT, actor=actor)
    write(case, action, actor=actor, **said)
    close_case(row, actor=actor, note=row.reason)


_PROPOSALS = (
    CaseAction.Action.PROPOSED,
    CaseAction.Action.APPROVED,
    CaseAction.Action.WITHDRAWN,
    CaseAction.Action.VOIDED,
)


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


def _add(case: Case, *, reason: CaseReason, actor: str, note: str) -> Case:
    """The checks go on and find the same again and again: each thing is written once."""
    words = _words(reason, note)
    if words and not case.actions.filter(note=words).exists():
        write(case, CaseAction.Action.NOTED, actor=actor, note=words)
    if _gravity(reason) > _gravity(CaseReason(case.reason)):
        case.reason = reason
        case.version += 1
        case.save(update_fields=["reason", "version"])
        log.warning(
            "case is graver",
            extra={"action": "case_raised", "case": case.pk, "reason": reason.value},
        )
        _count(reason)
    return case


def _count(reason: CaseReason) -> None:
    if reason is CaseReason.CONFLICT:
        tallies.conflict()


def _words(reason: CaseReason, note: str) -> str:
    """What the record says of it; the actor says already that an agent opened it."""
    if reason is CaseReason.OPENED_BY_AGENT:
        return note
    return f"{reason.label}: {note}" if note else str(reason.label)


def _gravity(reason: CaseReason) -> int:
    return _GRAVITY.get(reason, _GRAVEST)
