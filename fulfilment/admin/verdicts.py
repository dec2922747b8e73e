"""What nobody knows, decided by hand: paid out, not paid out, and the one that never is."""

from collections.abc import Iterator

from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment.admin import words
from fulfilment.admin.access import Access
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.money import money
from fulfilment.admin.outcomes import Outcome
from fulfilment.admin.phrases import sum_of
from fulfilment.admin.story import agrees
from fulfilment.conf import conf
from fulfilment.reconcile import people, proposals
from fulfilment.reconcile.verdicts import AGAIN
from fulfilment.states import State
from idempotency.times import when


def outcomes(dossier: Dossier, access: Access) -> tuple[Outcome, ...]:
    """Paid out, not paid out, not paid out and sent again; and the one that never is."""
    return (
        _paid_out(dossier, access),
        _not_paid_out(dossier, access),
        _under_a_new_reference(dossier, access),
        _send_again(dossier),
    )


def consequences_of(dossier: Dossier, verdict: str) -> tuple[str, ...]:
    """What this verdict on an unknown payment does."""
    if verdict == State.FULFILLED:
        return (
            "The app will be told: completed.",
            f"The {sum_of(dossier)} that we hold for it leaves the customer's account.",
            *despite_difference(dossier),
            "It cannot be undone.",
        )
    provider = words.provider(dossier.fulfilment.connector)
    if verdict == AGAIN:
        return (
            f"A second order over {sum_of(dossier)} goes to {provider}, under a new reference.",
            "The app is told nothing yet, and the money stays held, until that one is decided.",
            f"If {provider} carries this one out after all, it is paid twice. It cannot be undone.",
        )
    return (
        "The app will be told: failed, and that it may try again.",
        f"The {sum_of(dossier)} that we hold for it goes back to the customer.",
        f"If {provider} pays after all, a person has to correct it. It cannot be undone.",
    )


def labelled(dossier: Dossier, label: str) -> str:
    """The label of a verdict; above the limit of one person it is a proposal first."""
    if not proposals.second_person_needed(dossier.fulfilment):
        return label
    return f"Propose: {label[:1].lower()}{label[1:]}"


def needs_two(dossier: Dossier) -> Iterator[str]:
    """The rule about the second person, where it applies."""
    f = dossier.fulfilment
    if proposals.second_person_needed(f):
        limit = money(conf().second_person_above[f.currency], f.currency)
        yield f"Above {limit} two people decide: nothing moves until a second one approves."


def not_fenced(dossier: Dossier) -> Iterator[str | SafeString]:
    """An attempt that may still be under way can still pay, whatever anybody knows now."""
    situation = dossier.situation
    if dossier.state != State.NEEDS_RECONCILIATION or situation.fenced:
        return
    if situation.fenced_at is None:
        yield "An attempt is still open: it may be paying now."
        return
    yield format_html(
        "An attempt may still reach {} until {}. Reload this page then.",
        words.provider(dossier.fulfilment.connector),
        when(situation.fenced_at, now=dossier.now),
    )


def despite_difference(dossier: Dossier) -> Iterator[str]:
    """A warning where the provider names another amount or payee than ours."""
    theirs = dossier.theirs
    if theirs is not None and theirs.other_recipient:
        yield "Careful: they name another payee. Our books say that it went to ours all the same."
    if theirs is not None and theirs.amount is not None and not agrees(dossier, theirs):
        said = money(theirs.amount, theirs.currency)
        yield f"Careful: they name {said}. Our books move {sum_of(dossier)} all the same."


def missing(access: Access, permission: str) -> tuple[str, ...]:
    """Why it is not this person's to do."""
    return (access.missing[permission],) if access.missing[permission] else ()


def _paid_out(dossier: Dossier, access: Access) -> Outcome:
    return Outcome(
        State.FULFILLED,
        labelled(dossier, "Mark as paid out"),
        (*needs_two(dossier), *consequences_of(dossier, State.FULFILLED)),
        missing(access, people.RESOLVE[State.FULFILLED]),
        "done",
    )


def _not_paid_out(dossier: Dossier, access: Access) -> Outcome:
    return Outcome(
        State.FAILED,
        labelled(dossier, "Mark as not paid out"),
        (*needs_two(dossier), *consequences_of(dossier, State.FAILED)),
        (*missing(access, people.RESOLVE[State.FAILED]), *not_fenced(dossier)),
        "not-done",
    )


def _under_a_new_reference(dossier: Dossier, access: Access) -> Outcome:
    gone = () if dossier.connected else ("The provider is not configured any more.",)
    return Outcome(
        AGAIN,
        labelled(dossier, "Not done: send it again under a new reference"),
        (*needs_two(dossier), *consequences_of(dossier, AGAIN)),
        (*missing(access, people.AGAIN), *not_fenced(dossier), *gone),
        "not-done",
    )


def _send_again(dossier: Dossier) -> Outcome:
    why = (
        "Never by hand: it could pay twice. The automatic checks send it again by themselves, "
        "under the same reference, once it is a fact that nothing was paid."
    )
    return Outcome(
        "", "Send it again as it is", (f"A second order over {sum_of(dossier)}.",), (why,)
    )
