"""A button with what pressing it does. A forbidden one stays on the page and says why."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.safestring import SafeString

from fulfilment.admin import words
from fulfilment.admin.access import Access
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.phrases import sum_of
from fulfilment.states import State


@dataclass(frozen=True, slots=True)
class Outcome:
    """A button, what pressing it does, and why it cannot be pressed (empty: it can).

    `name` is the verdict or the step; `step` is the address that the button posts to.
    """

    name: str
    label: str
    consequences: tuple[str | SafeString, ...]
    blocked: tuple[str | SafeString, ...]
    tone: str = ""
    step: str = "resolve"


def ask(dossier: Dossier, access: Access) -> Outcome:
    """The harmless one: a look-up now."""
    provider = words.provider(dossier.fulfilment.connector)
    then = f"If {provider} contradicts our verdict, the verdict stands and a case is opened."
    if dossier.clashes:
        then = "What was said contradicts, so no answer settles it: a person decides."
    elif dossier.state.is_open:
        then = f"If {provider} says done or not done, this settles by itself and the app is told."
    elif dossier.state == State.FULFILLED:
        then = f"If {provider} gave the money back, the customer gets it at once. {then}"
    name = dossier.fulfilment.reference
    consequences = (f"We ask {provider} about {name}, at once. It moves no money.", then)
    blocked = tuple(_not_askable(dossier, access))
    return Outcome("ask", f"Ask {provider} now", consequences, blocked, step="ask")


def cancel(dossier: Dossier, access: Access) -> Outcome:
    """Taking back what was never sent."""
    provider = words.provider(dossier.fulfilment.connector)
    consequences = (
        f"It is never sent to {provider}.",
        f"The {sum_of(dossier)} that we hold for it is the customer's to spend again.",
        "The app will be told: cancelled, and that it may try again. It cannot be undone.",
    )
    blocked = tuple(_not_cancellable(dossier, access))
    return Outcome("cancel", "Cancel it", consequences, blocked, "not-done", step="cancel")


def _not_cancellable(dossier: Dossier, access: Access) -> Iterator[str]:
    provider = words.provider(dossier.fulfilment.connector)
    if dossier.state == State.DISPATCHING:
        yield f"It is being sent to {provider} at this moment."
    elif dossier.fulfilment.generation > 1:
        yield f"It was sent to {provider} under an earlier reference."
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
