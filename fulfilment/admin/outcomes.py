"""What a person may do with a payment. A forbidden action stays on the page and says why."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment.admin import words
from fulfilment.admin.access import Access
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.money import money
from fulfilment.admin.story import agrees
from fulfilment.admin.times import when
from fulfilment.states import State


@dataclass(frozen=True, slots=True)
class Outcome:
    """A button, what pressing it does, and why it cannot be pressed (empty: it can).

    `name` is the verdict or the step; `step` is the address that the button posts to.
    """

    name: str
    label: str
    consequences: tuple[str, ...]
    blocked: tuple[str | SafeString, ...]
    tone: str = ""
    step: str = "resolve"


def decisions(dossier: Dossier, access: Access) -> tuple[Outcome, ...]:
    """What can be decided of a payment in its state, and what only seems so."""
    if dossier.state in (State.PENDING, State.DISPATCHING):
        return (_cancel(dossier, access),)
    return (_paid_out(dossier, access), _not_paid_out(dossier, access), _send_again(dossier))


def ask(dossier: Dossier, access: Access) -> Outcome:
    """The harmless one: a look-up now."""
    provider = words.provider(dossier.fulfilment.connector)
    then = f"If {provider} contradicts our verdict, the verdict stands and a case is opened."
    if dossier.state.is_open:
        then = f"If {provider} says done or not done, this settles by itself and the app is told."
    elif dossier.state == State.FULFILLED:
        then = f"If {provider} gave the money back, the customer gets it at once. {then}"
    name = dossier.fulfilment.reference
    consequences = (f"We ask {provider} about {name}, at once. It moves no money.", then)
    blocked = tuple(_not_askable(dossier, access))
    return Outcome("ask", f"Ask {provider} now", consequences, blocked, step="ask")


def _cancel(dossier: Dossier, access: Access) -> Outcome:
    provider = words.provider(dossier.fulfilment.connector)
    consequences = (
        f"It is never sent to {provider}.",
        f"The {_sum(dossier)} that we hold for it is the customer's to spend again.",
        "The app will be told: cancelled, and that it may try again. It cannot be undone.",
    )
    blocked = tuple(_not_cancellable(dossier, access))
    return Outcome("cancel", "Cancel it", consequences, blocked, "not-done", step="cancel")


def _paid_out(dossier: Dossier, access: Access) -> Outcome:
    consequences = (
        "The app will be told: completed.",
        f"The {_sum(dossier)} that we hold for it leaves the customer's account.",
        *_despite_difference(dossier),
        "It cannot be undone.",
    )
    blocked = tuple(_undecidable(dossier, access.resolve_fulfilled))
    return Outcome(State.FULFILLED, "Mark as paid out", consequences, blocked, "done")


def _not_paid_out(dossier: Dossier, access: Access) -> Outcome:
    provider = words.provider(dossier.fulfilment.connector)
    consequences = (
        "The app will be told: failed, and that it may try again.",
        f"The {_sum(dossier)} that we hold for it goes back to the customer.",
        f"If {provider} pays after all, that money is lost. It cannot be undone.",
    )
    blocked = (*_undecidable(dossier, access.resolve_failed), *_not_fenced(dossier))
    return Outcome(State.FAILED, "Mark as not paid out", consequences, blocked, "not-done")


def _send_again(dossier: Dossier) -> Outcome:
    why = (
        "Never by hand: it could pay twice. The automatic checks send it again by themselves, "
        "under the same reference, once it is a fact that nothing was paid."
    )
    return Outcome("", "Send it again", (f"A second order over {_sum(dossier)}.",), (why,))


def _despite_difference(dossier: Dossier) -> Iterator[str]:
    theirs = dossier.theirs
    if theirs is not None and theirs.amount is not None and not agrees(dossier, theirs):
        said = money(theirs.amount, theirs.currency)
        yield f"Careful: they name {said}. Our books move {_sum(dossier)} all the same."


def _undecidable(dossier: Dossier, missing: str) -> Iterator[str]:
    if dossier.state != State.NEEDS_RECONCILIATION:
        state = words.badge(dossier.state).text.lower()
        yield f"It is “{state}”, so there is no verdict to give by hand."
    if missing:
        yield missing


def _not_cancellable(dossier: Dossier, access: Access) -> Iterator[str]:
    provider = words.provider(dossier.fulfilment.connector)
    if dossier.state == State.DISPATCHING:
        yield f"It is being sent to {provider} at this moment."
    elif dossier.sent:
        yield f"It was sent before and may have reached {provider}. Only what never left is cancelled."
    if access.cancel:
        yield access.cancel


def _not_askable(dossier: Dossier, access: Access) -> Iterator[str]:
    provider = words.provider(dossier.fulfilment.connector)
    if not dossier.connected:
        yield f"{provider} is not configured any more."
    elif not dossier.situation.rules.capabilities.lookup_by_reference:
        yield f"{provider} cannot be asked about a single payment."
    if not dossier.sent:
        yield f"Nothing was ever sent, so {provider} cannot know anything about it."
    if access.ask:
        yield access.ask


def _not_fenced(dossier: Dossier) -> Iterator[str | SafeString]:
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


def _sum(dossier: Dossier) -> str:
    return money(dossier.fulfilment.amount, dossier.fulfilment.currency)
