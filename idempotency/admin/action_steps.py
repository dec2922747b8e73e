"""What the buttons of a held action do: each asks its service, which decides and keeps the record."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from idempotency import gate
from idempotency.admin.forms import PlainForm, ReasonForm, SeenForm, refuse_constant
from idempotency.gate import held
from idempotency.models import GatedAction


class SeenActionForm(SeenForm, ReasonForm):
    """Which hold the person was looking at, and why they decide so."""

    slot = forms.RegexField(r"^claim_[0-9a-f]{24}$", widget=forms.HiddenInput)
    field_order = ["held_at", "slot", "reason"]


class HappenedForm(SeenActionForm):
    """That it happened, and what came of it."""

    body = forms.CharField(
        label="Result (JSON)",
        required=False,
        max_length=100_000,
        help_text="What later callers get as its result. Left empty: null.",
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
    )
    field_order = ["held_at", "slot", "body", "reason"]

    def clean_body(self) -> str:
        """Nothing, or JSON."""
        text: str = self.cleaned_data["body"].strip()
        try:
            _value_of(text)
        except (ValueError, RecursionError):
            raise ValidationError("This is not JSON.") from None
        return text


@dataclass(frozen=True, slots=True)
class Step:
    """One button: its consequences stand before it, and its POST does one thing."""

    name: str
    label: str
    permission: str
    tone: str
    form: type[SeenActionForm]
    run: Callable[..., str]
    done: str  # the word of the trail
    consequences: tuple[str, ...]

    def blocked(self, user: Any) -> tuple[str, ...]:
        """Why it cannot be pressed; empty if it can."""
        if user.has_perm(self.permission):
            return ()
        return (f"You do not have the permission “{TITLES[self.permission]}”.",)

    def fresh(self, row: GatedAction) -> PlainForm:
        """The form for the hold as the page shows it: with microseconds, or it would be another."""
        seen = {"held_at": row.held_at.isoformat() if row.held_at else "", "slot": row.slot}
        return self.form(auto_id=f"{self.name}_%s", initial=seen)


def _settle(pk: int, *, user: Any, form: HappenedForm) -> str:
    said = form.cleaned_data
    gate.settle_held(
        pk,
        held_at=said["held_at"],
        user=user,
        reason=said["reason"],
        result=_value_of(said["body"]),
    )
    return "Done: it counts as done, and is never done again."


def _release(pk: int, *, user: Any, form: SeenActionForm) -> str:
    said = form.cleaned_data
    gate.release_held(pk, held_at=said["held_at"], user=user, reason=said["reason"])
    return "Done: whoever asks for it next does it."


def _value_of(text: str) -> Any:
    return json.loads(text or "null", parse_constant=refuse_constant)


STEPS = {
    step.name: step
    for step in (
        Step(
            "settle",
            "It happened",
            held.SETTLE,
            "done",
            HappenedForm,
            _settle,
            "settled",
            (
                "It counts as done for ever; whoever asks for it gets the result that you give.",
                "Look at the other system first. It cannot be taken back.",
            ),
        ),
        Step(
            "release",
            "It did not happen",
            held.RELEASE,
            "not-done",
            SeenActionForm,
            _release,
            "released",
            (
                "Whoever asks for it next does it. Nothing is started by this button.",
                "If it did happen after all, it happens twice. It cannot be taken back.",
            ),
        ),
    )
}
TITLES = {
    f"idempotency.{name}": title
    for name, title in GatedAction._meta.permissions  # noqa: SLF001  Django's public name for it
}
