"""What can be done about a verdict that was given: leave it, or correct a failure that was none."""

from collections.abc import Iterator

from fulfilment.admin import words
from fulfilment.admin.access import Access
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.outcomes import Outcome
from fulfilment.admin.phrases import sum_of
from fulfilment.admin.verdicts import despite_difference, labelled, missing, needs_two
from fulfilment.errors import VerdictRefused
from fulfilment.models import CaseReason
from fulfilment.reconcile import corrections, people, rulings
from fulfilment.states import State


def outcomes(dossier: Dossier, access: Access) -> tuple[Outcome, ...]:
    """Through the open case only; without one there is nothing to leave as it is."""
    keep = (_leave(dossier, access),) if dossier.open_case is not None else ()
    return (_correct(dossier, access), *keep) if dossier.state == State.FAILED else keep


def consequences_of_correcting(dossier: Dossier) -> tuple[str, ...]:
    """What becomes of ledger and app; of a payment that another one replaced, something else."""
    amount = sum_of(dossier)
    if newer := corrections.supersedes(dossier.fulfilment):
        return (
            f"The newer reference {newer.reference} is given up: nothing is sent under it.",
            "The app was not told of a failure. It will be told: completed.",
            f"The {amount} that we hold for it leaves the customer's account.",
            *despite_difference(dossier),
            "It cannot be undone.",
        )
    if twin := corrections.twin_of(dossier.fulfilment):
        return (
            f"Careful: {twin}, was made for the same thing. So this is recorded as paid twice.",
            f"Our books set the {amount} aside; the customer pays nothing again.",
            "The app's answer stays as it is. A new case says what is left to do.",
        )
    return (
        "The app's stored answer changes from failed to completed.",
        f"The {amount} is taken from the customer's account again.",
        "What is not there any more our books set aside, and a new case says how much.",
        *despite_difference(dossier),
        "It cannot be undone.",
    )


def _correct(dossier: Dossier, access: Access) -> Outcome:
    twin = corrections.twin_of(dossier.fulfilment)
    label = "Record it: it was paid twice" if twin else "Correct it: it was paid out"
    return Outcome(
        State.FULFILLED,
        labelled(dossier, label),
        (*needs_two(dossier), *consequences_of_correcting(dossier)),
        (*_no_case(dossier), *_impossible(dossier), *missing(access, people.CORRECT)),
        "done",
    )


def _leave(dossier: Dossier, access: Access) -> Outcome:
    word = words.badge(dossier.state).text.lower()
    lines = (f"It stays “{word}” and nothing moves.", "The case is closed with what you write.")
    case = dossier.open_case
    doubted = case is not None and case.reason == CaseReason.CONFLICT
    label = f"Leave it as “{word}”" if doubted else "Close the case"
    permission = rulings.permission_for(dossier.fulfilment, verdict=dossier.state)
    blocked = missing(access, permission)
    return Outcome(dossier.state, label, lines, blocked)


def _no_case(dossier: Dossier) -> Iterator[str]:
    if dossier.open_case is None:
        word = words.badge(dossier.state).text.lower()
        yield f"It is “{word}” and no case is open. Open one first if there is something to decide."


def _impossible(dossier: Dossier) -> Iterator[str]:
    try:
        corrections.refuse_impossible(dossier.fulfilment)
    except VerdictRefused as refused:
        yield str(refused)
