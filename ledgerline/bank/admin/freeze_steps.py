"""The two buttons of an account and of a customer: what each does, and why it cannot be pressed."""

from dataclasses import dataclass
from typing import Any

from django import forms

from ledgerline.bank import freezes
from ledgerline.bank.freezes import Outcome, Subject
from ledgerline.bank.models import FreezeChange


class ReasonForm(forms.Form):
    """Why, and what the person knew when they decided."""

    seen = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    reason = forms.CharField(
        label="Why?",
        max_length=2000,
        help_text="Kept in the journal with your name. The customer will ask.",
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Say why: the customer will ask."},
    )


@dataclass(frozen=True, slots=True)
class Step:
    """One button."""

    name: str
    label: str
    permission: str
    frozen: bool  # afterwards
    done: str
    consequences: tuple[str, ...]

    def blocked(self, subject: Subject, user: Any) -> str:
        """Why it cannot be pressed; empty if it can."""
        if getattr(subject, "kind", "customer") != "customer":
            return "The bank's own accounts cannot be frozen."
        if not user.has_perm(self.permission):
            return f"You do not have the permission “{_TITLES[self.permission]}”."
        return ""

    def run(self, subject: Subject, **said: Any) -> Outcome:
        """The service decides; this only names it."""
        return (freezes.freeze if self.frozen else freezes.release)(subject, **said)


STEPS = {
    step.name: step
    for step in (
        Step(
            "freeze",
            "Freeze",
            freezes.FREEZE,
            True,  # noqa: FBT003  as the field says
            "frozen",
            (
                "New orders are refused from this moment on; one that is being made is finished.",
                "Other customers cannot pay in meanwhile.",
                "What already left, and what becomes of it, is still recorded.",
                "The app says so to its user. It can be released again.",
            ),
        ),
        Step(
            "release",
            "Release",
            freezes.RELEASE,
            False,  # noqa: FBT003
            "released",
            (
                "Money can be sent again, and paid in, from this moment on.",
                "Orders that were refused stay refused.",
            ),
        ),
    )
}
_TITLES = {
    f"bank.{name}": title
    for name, title in FreezeChange._meta.permissions  # noqa: SLF001  Django's public name for it
}


def step_of(subject: Subject) -> Step:
    """The one that applies now."""
    return STEPS["freeze" if subject.frozen_at is None else "release"]
