"""What happens if nobody does anything: the next automatic check, and what comes after it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile

from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment.admin import words
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.phrases import joined
from fulfilment.admin.summary import at_rest, overdue_before
from fulfilment.conf import conf
from fulfilment.models import Finding, Source
from fulfilment.reconcile import budget, generations, policy
from fulfilment.states import State
from idempotency.times import span, when

AHEAD = 3  # distances named before the text says what the last one is


@dataclass(frozen=True, slots=True)
class Outlook:
    """The text, and whether it is an alarm (the checks have stopped)."""

    text: SafeString
    alarm: bool


def if_nothing_is_done(dossier: Dossier) -> Outlook:
    """For every state; decided rows say that nothing more happens by itself."""
    due = dossier.fulfilment.next_check_at
    if due is None:
        text = joined(_asked_again(dossier), format_html("{}", _after_the_verdict(dossier)))
        return Outlook(text, alarm=False)
    if due < overdue_before(dossier.now):
        return Outlook(_stopped(dossier, due), alarm=True)
    if dossier.state == State.NEEDS_RECONCILIATION:
        return Outlook(_and_rest(_checks(dossier, due), dossier), alarm=False)
    return Outlook(_and_rest(_on_its_way(dossier, due), dossier), alarm=False)


def _and_rest(text: SafeString, dossier: Dossier) -> SafeString:
    """Nobody calls a provider for a while that did not answer several times in a row."""
    mine = [row for row in budget.at_rest() if row.name == dossier.fulfilment.connector]
    return format_html("{} {}", text, at_rest(mine[0], now=dossier.now)) if mine else text


def _on_its_way(dossier: Dossier, due: datetime) -> SafeString:
    moment = when(due, now=dossier.now)
    if dossier.state == State.DISPATCHING:
        return format_html("Our sweeper looks after it at {}.", moment)
    if due <= dossier.now:
        return format_html(
            "It is sent as soon as a worker is free: it has been due since {}.", moment
        )
    return format_html("It is sent at {}.", moment)


def _after_the_verdict(dossier: Dossier) -> str:
    provider = words.provider(dossier.fulfilment.connector)
    if dossier.open_case is not None:
        return "The case stays open, and the verdict stands, until a person decides."
    newer = generations.newest_after(dossier.fulfilment)
    if dossier.state == State.FAILED and newer is not None:
        return (
            "Nothing more happens by itself under this reference. What the app is told is decided "
            f"under the newer one, {newer.reference}."
        )
    nothing = "Then nothing" if dossier.fulfilment.recheck_at else "Nothing"
    if dossier.state == State.FULFILLED:
        return (
            f"{nothing}, unless {provider} gives the money back: that is booked by itself. "
            "A later contradiction would open a case."
        )
    return f"{nothing} more happens by itself. A later contradiction would open a case."


def _asked_again(dossier: Dossier) -> SafeString:
    """A decided payment is asked about again: a report contests it, or money may come back late."""
    due = dossier.fulfilment.recheck_at
    if due is None:
        return SafeString()
    provider = words.provider(dossier.fulfilment.connector)
    return format_html("{} is asked about it again at {}.", provider, when(due, now=dossier.now))


def _stopped(dossier: Dossier, due: datetime) -> SafeString:
    return format_html(
        "The automatic check was due at {} and has not run: the checks have stopped. "
        "Tell the operator. Until then nothing here settles by itself.",
        when(due, now=dossier.now),
    )


def _checks(dossier: Dossier, due: datetime) -> SafeString:
    moment = when(due, now=dossier.now)
    text = (
        "Next automatic check at {}." if due > dossier.now else "The automatic check of {} is due."
    )
    return format_html(
        "{} {}, for as long as it takes. {}",
        format_html(text, moment),
        _and_then(dossier, _distances(conf().schedule, _position(dossier))),
        _case(dossier),
    )


def _and_then(dossier: Dossier, distances: str) -> str:
    """What its answer does, and when it is asked again."""
    provider = words.provider(dossier.fulfilment.connector)
    if dossier.clashes:
        return (
            "What was said contradicts, so no answer settles it by itself: a person decides. "
            f"Until then {provider} is asked again {distances}"
        )
    again = ""
    if _may_be_sent_again(dossier):
        again = (
            f"Once it is a fact that {provider} never got it, it is sent again by itself, under "
            "the same reference. "
        )
    return (
        f"If {provider} then says done or not done, this settles by itself and the app is told. "
        f"{again}Else it is asked again {distances}"
    )


def _may_be_sent_again(dossier: Dossier) -> bool:
    """Not where the provider has it, nor where it has forgotten the reference by now."""
    accepted = any(e.finding == Finding.ACCEPTED for e in dossier.said)
    return not accepted and policy.may_send(dossier.situation)


def _distances(schedule: tuple[timedelta, ...], position: int) -> str:
    """`after 5 minutes, 15 minutes, 1 hour, …, then every day`, from where the row stands."""
    left = [span(distance) for distance in schedule[position + 1 :]]
    every = f"every {span(schedule[-1]).removeprefix('1 ')}"
    if len(left) <= 1:
        return every
    dots = ", …" if len(left) > AHEAD + 1 else ""
    return f"after {', '.join(left[:-1][:AHEAD])}{dots}, then {every}"


def _position(dossier: Dossier) -> int:
    """Look-ups so far; without information the distance grows as well."""
    asked = [e for e in reversed(dossier.evidence) if e.source == Source.LOOKUP]
    unanswered = takewhile(lambda e: e.finding == Finding.NO_INFORMATION, asked)
    return dossier.fulfilment.checks + len(list(unanswered))


def _case(dossier: Dossier) -> SafeString:
    if dossier.proposal is not None:
        text = "The proposal waits meanwhile; whatever is newly learnt voids it."
        return format_html("{}", text)
    if dossier.open_case is not None:
        return format_html("{}", "The case stays open meanwhile.")
    due = policy.case_due_at(dossier.situation)
    if due is None:
        return SafeString()
    return format_html(
        "If nobody knows by {}, a case is opened and a person decides.", when(due, now=dossier.now)
    )
