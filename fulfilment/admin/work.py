"""Working on a case: who owns it, and the steps that move no money."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment.admin import words
from fulfilment.admin.access import Access
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.outcomes import Outcome
from fulfilment.models import Case
from idempotency.times import when


def sentence(dossier: Dossier) -> SafeString:
    """Is there a case, why, since when, and whose is it?"""
    case = dossier.open_case
    if case is not None:
        return format_html(
            "Open since {}: {}. Opened by {}. {}",
            when(case.opened_at, now=dossier.now),
            case.get_reason_display(),
            words.who(case.opened_by),
            f"Owned by {case.owner.get_username()}." if case.owner else "Nobody owns it yet.",
        )
    closed = dossier.cases[-1] if dossier.cases else None
    if closed is None:
        why = "the automatic checks deal with it" if dossier.state.is_open else "it needed none"
        return format_html("No case was opened: {}.", why)
    return format_html(
        "Closed at {} by {}.", when(closed.closed_at, now=dossier.now), words.who(closed.closed_by)
    )


def steps(dossier: Dossier, access: Access, *, name: str) -> list[Outcome]:
    """Open, take or release; `name` is who is looking."""
    case = dossier.open_case
    step = _open(dossier) if case is None else _own(case, name=name)
    blocked = (*step.blocked, *((access.work,) if access.work else ()))
    return [Outcome(step.name, step.label, step.consequences, blocked)]


def note(dossier: Dossier, access: Access) -> Outcome:
    """A note for whoever looks next."""
    blocked = [access.work] if access.work else []
    if dossier.open_case is None:
        blocked.append("No case is open, and a note belongs to a case. Open one first.")
    lines = ("It stays in the timeline under your name. Nothing else changes.",)
    return Outcome("note", "Add a note", lines, tuple(blocked))


def _open(dossier: Dossier) -> Outcome:
    settled = () if dossier.state.is_open else ("The verdict stands meanwhile.",)
    checks = ("The automatic checks go on.",) if dossier.state.is_open else ()
    lines = ("A person is asked to look at this.", *checks, *settled)
    return Outcome("open", "Open a case", lines, ())


def _own(case: Case, *, name: str) -> Outcome:
    owner = case.owner.get_username() if case.owner else ""
    if owner == name:
        lines = ("It becomes nobody's again, and stays open.",)
        return Outcome("release", "Release this case", lines, ())
    was = f"It is {owner}'s now and becomes yours." if owner else "Colleagues see that it is yours."
    return Outcome("take", "Take this case", (was,), ())
