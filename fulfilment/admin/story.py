"""What happened, in one or two plain sentences: what is known, by whom, since when; never a guess."""

from typing import assert_never

from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment.admin import ending, words
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.money import money
from fulfilment.admin.phrases import joined, moment, provider_of, sum_of
from fulfilment.models import Attempt, CaseReason, Evidence, Finding, Source
from fulfilment.reconcile import policy
from fulfilment.reconcile.attempts import HARMLESS
from fulfilment.states import State
from idempotency.times import when


def sentence(dossier: Dossier) -> SafeString:
    """The story so far."""
    match dossier.state:
        case State.PENDING:
            return _pending(dossier)
        case State.DISPATCHING:
            return _dispatching(dossier)
        case State.NEEDS_RECONCILIATION:
            return joined(_unknown(dossier), _asked(dossier))
        case State.FULFILLED | State.FAILED | State.CANCELLED | State.REVERSED:
            return ending.sentence(dossier)
        case never:
            assert_never(never)


def _pending(dossier: Dossier) -> SafeString:
    again = "again " if dossier.attempts else ""
    return format_html(
        "{} is waiting to be sent {}to {} since {}. Nothing is under way.",
        sum_of(dossier),
        again,
        provider_of(dossier),
        moment(dossier.fulfilment.state_changed_at, dossier),
    )


def _dispatching(dossier: Dossier) -> SafeString:
    return format_html(
        "{} is being sent to {} now, since {}.",
        sum_of(dossier),
        provider_of(dossier),
        moment(dossier.fulfilment.state_changed_at, dossier),
    )


def _unknown(dossier: Dossier) -> SafeString:
    """What the newest telling answer leaves open; without one, what we did ourselves."""
    if not dossier.sent:
        return _never_sent(dossier)
    theirs = dossier.theirs
    if theirs is not None:
        return _left_open(dossier, theirs)
    return _no_answer(dossier, dossier.sent[-1])


def _never_sent(dossier: Dossier) -> SafeString:
    if any(attempt.closed_at is None for attempt in dossier.attempts):
        return format_html(
            "An attempt is still open; nobody knows yet whether {} left.", sum_of(dossier)
        )
    tries = len(dossier.attempts)
    count = "No attempt was made" if not tries else "None of our attempts left us"
    return format_html("{}, so {} has not left.", count, sum_of(dossier))


def _left_open(dossier: Dossier, theirs: Evidence) -> SafeString:
    """They did say something: why it does not settle the matter."""
    f = dossier.fulfilment
    said = format_html(
        "{} {} at {}",
        provider_of(dossier),
        words.says(theirs.finding),
        moment(theirs.recorded_at, dossier),
    )
    if theirs.finding == Finding.DONE and not agrees(dossier, theirs):
        named = "no amount" if theirs.amount is None else money(theirs.amount, theirs.currency)
        ours = money(f.amount, f.currency)
        return format_html("{}, but named {}; we asked for {}.", said, named, ours)
    if theirs.finding == Finding.ACCEPTED:
        sent = dossier.sent[-1]
        return format_html(
            "We sent it at {}; {}.", when(sent.sent_at or sent.claimed_at, now=dossier.now), said
        )
    return format_html("{}. It waits because {}.", said, _why_it_waits(dossier))


def _why_it_waits(dossier: Dossier) -> str:
    """In the words of the rules that judge it."""
    case = dossier.open_case
    if case is not None and case.reason == CaseReason.HANDLER_FAILED:
        return "our books could not take this outcome: see the case in the timeline"
    if not dossier.connected:
        return "its connector is not configured any more"
    return policy.decide(dossier.situation).reason


def _no_answer(dossier: Dossier, attempt: Attempt) -> SafeString:
    answer = _answer(dossier, attempt)
    if answer is not None and answer.finding in HARMLESS:
        return format_html(
            "{} {} at {}, so {} has not left by that attempt.",
            provider_of(dossier),
            words.says(answer.finding),
            moment(answer.recorded_at, dossier),
            sum_of(dossier),
        )
    if attempt.maybe_sent:
        return _restored(dossier, attempt)
    return format_html(
        "We sent it at {}; {}. Nobody knows yet whether {} left.",
        when(attempt.sent_at or attempt.claimed_at, now=dossier.now),
        _lost(answer),
        sum_of(dossier),
    )


def _restored(dossier: Dossier, attempt: Attempt) -> SafeString:
    return format_html(
        "Our database came back from a backup at {}, and what was done since is not in it. "
        "Nobody knows yet whether {} left.",
        moment(attempt.closed_at or attempt.claimed_at, dossier),
        sum_of(dossier),
    )


def _lost(answer: Evidence | None) -> str:
    if answer is not None and (answer.digest or answer.provider_status):
        return "the answer does not say what happened"
    return "the answer never arrived"


def _asked(dossier: Dossier) -> SafeString:
    """The newest look-up, where there was one."""
    asked = next((e for e in reversed(dossier.evidence) if e.source == Source.LOOKUP), None)
    if asked is None or asked == dossier.theirs:
        return SafeString()
    return format_html(
        "Asked last at {}, {} {}.",
        moment(asked.recorded_at, dossier),
        provider_of(dossier),
        words.says(asked.finding),
    )


def agrees(dossier: Dossier, theirs: Evidence) -> bool:
    """Did they name our amount, in our currency?"""
    f = dossier.fulfilment
    return (theirs.amount, theirs.currency) == (f.amount, f.currency)


def _answer(dossier: Dossier, attempt: Attempt) -> Evidence | None:
    of_attempt = (e for e in reversed(dossier.evidence) if e.attempt_id == attempt.pk)
    return next((e for e in of_attempt if e.source == Source.RESPONSE), None)
