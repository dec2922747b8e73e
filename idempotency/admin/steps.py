"""What the buttons of a held key do: each asks its service, which decides and keeps the record."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages

from idempotency import held
from idempotency.admin import story
from idempotency.admin.forms import PlainForm, ReleaseForm, SeenForm, SettleForm
from idempotency.contract import Held
from idempotency.endings import Settled
from idempotency.errors import NobodyToAsk
from idempotency.held import Seen
from idempotency.models import KeyListing
from idempotency.redaction import mask_text


@dataclass(frozen=True, slots=True)
class Step:
    """One button: its consequences stand before it, and its POST does one thing."""

    name: str
    label: str
    permission: str
    tone: str
    form: type[SeenForm]
    run: Callable[..., tuple[int, str]]  # a level of Django's messages, and the sentence
    done: str  # the word of the trail
    consequences: tuple[str, ...]

    def blocked(self, row: KeyListing, user: Any) -> tuple[str, ...]:
        """Why it cannot be pressed; empty if it can."""
        reasons = []
        if not user.has_perm(self.permission):
            reasons.append(f"You do not have the permission “{TITLES[self.permission]}”.")
        if self.name == "ask" and not story.can_be_asked(row):
            reasons.append(str(NobodyToAsk.__doc__))
        return tuple(reasons)

    def fresh(self, row: KeyListing) -> PlainForm:
        """The form for the hold as the page shows it."""
        return self.form(auto_id=f"{self.name}_%s", initial=seen_of(row))


def _ask(seen: Seen, *, user: Any, form: SeenForm) -> tuple[int, str]:
    match held.ask(seen, user=user):
        case None:
            said = "Asked just now: nothing happened. The same request may run again."
            return messages.SUCCESS, said
        case Settled(captured):
            status = captured.answer.status
            return messages.SUCCESS, f"Asked just now: decided. Its client now gets {status}."
        case Held(record):
            why = mask_text(record.hold_reason) if record else "the database could not be reached"
            return messages.WARNING, f"Asked just now: still unknown ({why})."
        case _:
            return messages.WARNING, "Asked just now; meanwhile somebody else found it out."


def _settle(seen: Seen, *, user: Any, form: SettleForm) -> tuple[int, str]:
    answer = form.answer()
    held.settle(seen, user=user, answer=answer, reason=form.cleaned_data["reason"])
    return messages.SUCCESS, f"Done: every retry with this key now gets {answer.status}."


def _release(seen: Seen, *, user: Any, form: ReleaseForm) -> tuple[int, str]:
    held.release(seen, user=user, reason=form.cleaned_data["reason"])
    said = "Done: the same request may run again when its client sends it."
    return messages.SUCCESS, said


STEPS = {
    step.name: step
    for step in (
        Step(
            "ask",
            "Ask now",
            held.ASK,
            "",
            SeenForm,
            _ask,
            "asked",
            (
                "The other system is asked by the “recover” of the view, as the sweep does.",
                "If it happened, its answer is stored, with what the view writes about it.",
                "If it did not happen, the key is free for its client. Else nothing changes.",
            ),
        ),
        Step(
            "settle",
            "Give this answer",
            held.SETTLE,
            "done",
            SettleForm,
            _settle,
            "settled",
            (
                "Its client and every retry get exactly this answer. It cannot be taken back.",
                "Only the answer is stored: rows of our own that the request would have written are not.",
                "If the other system can say what happened, ask it instead.",
            ),
        ),
        Step(
            "release",
            "Release: nothing happened",
            held.RELEASE,
            "not-done",
            ReleaseForm,
            _release,
            "released",
            (
                "The same request runs again when its client sends it, and calls the other system again.",
                "If it did happen after all, it happens twice. It cannot be taken back.",
                "Another request with this key is still refused.",
            ),
        ),
    )
}
TITLES = {
    f"idempotency.{name}": title
    for name, title in KeyListing._meta.permissions  # noqa: SLF001  Django's public name for it
}


def seen_of(row: KeyListing) -> dict[str, Any]:
    """What the hidden fields carry: with microseconds, or it would be another hold."""
    times = {"held_at": row.held_at, "next_check_at": row.next_check_at}
    return {name: time.isoformat() for name, time in times.items() if time is not None}
