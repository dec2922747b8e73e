"""What a person may do with an event: each button asks its service, which decides and records it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms

from fulfilment.admin import event_words
from fulfilment.models import EventStatus, ProviderEvent
from fulfilment.reconcile import people
from fulfilment.webhooks import replays

TITLE = "Can apply an event again, or set it aside"


class SeenForm(forms.Form):
    """How many steps were on record on the page that the person was looking at."""

    seen = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""


class SetAsideForm(SeenForm):
    """Why nothing has to be done, in words."""

    note = forms.CharField(
        label="Why does nothing have to be done?",
        max_length=255,
        help_text="Who says so, and where a colleague finds it: ticket, the provider's answer.",
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": "Say why nothing has to be done about it."},
    )


@dataclass(frozen=True, slots=True)
class Step:
    """One button: its consequences stand before it, and its POST does one thing."""

    name: str
    label: str
    tone: str
    form: type[SeenForm]
    run: Callable[..., str]
    consequences: tuple[str, ...]
    done: EventStatus  # where it leads nowhere any more

    def blocked(self, event: ProviderEvent, user: Any) -> tuple[str, ...]:
        """Why it cannot be pressed; empty if it can."""
        why = []
        if event.status == EventStatus.APPLIED:
            why.append("It is applied: nothing is left to do.")
        elif event.status == self.done:
            why.append("It is set aside already.")
        if not people.may(user, people.REPLAY):
            why.append(
                f"You do not have the permission “{TITLE}”, neither yourself nor by a group."
            )
        return tuple(why)


def _replay(event: ProviderEvent, *, actor: Any, seen: int) -> str:
    after = replays.replay(event.pk, actor=actor, seen=seen)
    if after.status == EventStatus.APPLIED:
        return "Applied. What it says is on record, and its payment was judged by it."
    said = event_words.badge(after).text.lower()
    why = event_words.why(after).rstrip(".")
    return f"It was tried again. Now it is: {said}." + (f" {why}." if why else "")


def _set_aside(event: ProviderEvent, *, actor: Any, seen: int, note: str) -> str:
    replays.set_aside(event.pk, actor=actor, seen=seen, note=note)
    return "It is set aside, with your reason on record."


STEPS = {
    step.name: step
    for step in (
        Step(
            "replay",
            "Apply again",
            "waiting",
            SeenForm,
            _replay,
            (
                "It is tried now, by the same rules as when it came.",
                "It has its effect once, however often it is tried.",
                "If it still fits nothing, it waits again and is tried ever more rarely.",
            ),
            EventStatus.APPLIED,
        ),
        Step(
            "set_aside",
            "Set aside",
            "not-done",
            SetAsideForm,
            _set_aside,
            (
                "It leaves this list and is not tried any more. No payment is changed by that.",
                "“Apply again” takes it back.",
            ),
            EventStatus.SET_ASIDE,
        ),
    )
}
