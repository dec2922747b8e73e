"""How it ended: the verdict, by whom, on what, which one it followed, and what speaks against it."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment.admin import words
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.phrases import joined, moment, provider_of, sum_of
from fulfilment.models import CaseReason, Transition
from fulfilment.reconcile import generations
from fulfilment.states import State


def sentence(dossier: Dossier) -> SafeString:
    """The story of a decided payment."""
    move = dossier.decision
    corrected = move is not None and move.before == State.FAILED
    facts = {
        State.FULFILLED: "was paid out after all" if corrected else "was paid out",
        State.FAILED: "was not paid out",
        State.CANCELLED: "was never sent: it was cancelled",
        State.REVERSED: "was paid out and given back later",
    }
    fact = format_html("{} {}.", sum_of(dossier), facts[dossier.state])
    if is_doubtful(dossier):  # then ours is no fact, but what we say
        ours = words.badge(dossier.state).text.lower()
        fact = format_html("Our verdict on {} is “{}”.", sum_of(dossier), ours)
    if move is None:
        return fact
    return joined(
        fact,
        _verdict(dossier, move),
        _before(dossier, move),
        _sent_again(dossier),
        _contradicted(dossier),
    )


def is_doubtful(dossier: Dossier) -> bool:
    """Is our verdict not all there is to say, and a person still to look at that?"""
    case = dossier.open_case
    if case is None:
        return False
    return case.reason == CaseReason.PAID_TWICE or bool(dossier.contradiction)


def _verdict(dossier: Dossier, move: Transition) -> SafeString:
    """When, by whom, on what."""
    decided = format_html(
        "Decided at {} by {}", moment(move.moved_at, dossier), words.who(move.actor)
    )
    reason = words.hide(move.reason, dossier.number).rstrip(".")
    return format_html("{}: {}.", decided, reason) if reason else format_html("{}.", decided)


def _before(dossier: Dossier, move: Transition) -> SafeString:
    """The verdict that this one followed: a correction and a reversal each have one."""
    if move.before not in (State.FULFILLED, State.FAILED):
        return SafeString()
    first = next(m for m in reversed(dossier.transitions) if m.after == move.before)
    return format_html(
        "Before that it was “{}”, decided at {} by {}.",
        words.badge(move.before).text.lower(),
        moment(first.moved_at, dossier),
        words.who(first.actor),
    )


def _sent_again(dossier: Dossier) -> SafeString:
    """What came of the payment under a newer reference, where there is one."""
    newer = generations.newest_after(dossier.fulfilment)
    if newer is None:
        return SafeString()
    return format_html(
        "It was sent again under the reference {}, which is “{}”.",
        newer.reference,
        words.badge(newer.state).text.lower(),
    )


def _contradicted(dossier: Dossier) -> SafeString:
    """Why a decided payment has a case, where that is the reason."""
    case, theirs = dossier.open_case, dossier.theirs
    if case is None:
        return SafeString()
    if case.reason == CaseReason.PAID_TWICE:
        return format_html("{}", "But it was paid, beside another payment for the same thing.")
    if theirs is None or not dossier.contradiction:
        return SafeString()
    return format_html(
        "But {} {} at {}. The verdict stands until a person decides.",
        provider_of(dossier),
        words.says(theirs.finding),
        moment(theirs.recorded_at, dossier),
    )
