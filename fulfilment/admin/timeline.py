"""One story from four tables: moves, attempts, what was said and what staff did, oldest first."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from django.utils.safestring import SafeString
from django.utils.text import capfirst

from fulfilment.admin import words
from fulfilment.admin.dossier import PROVIDER_SOURCES, Dossier
from fulfilment.admin.money import money
from fulfilment.conf import conf
from fulfilment.models import Attempt, CaseAction, Evidence, Source, Transition
from fulfilment.reconcile.verdicts import AGAIN
from fulfilment.states import State
from idempotency.times import span, when

# A row checked daily for ever says "not found" hundreds of times; this many alike become one line.
FOLD_FROM = 3


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: when, who, what; `kind` groups entries that may be folded, `tone` only repeats."""

    moment: datetime
    who: str
    what: str
    detail: str = ""
    kind: str = "fact"
    tone: str = "waiting"
    last: datetime | None = None  # set on a folded line: the moment of its newest entry
    count: int = 1


@dataclass(frozen=True, slots=True)
class Line:
    """An entry with its time rendered, and who begins the line."""

    entry: Entry
    who: str
    time: SafeString
    until: SafeString


def timeline(dossier: Dossier) -> list[Line]:
    """All entries in the order in which they happened."""
    entries = sorted(_entries(dossier), key=lambda entry: entry.moment)  # stable: causes come first
    return [_line(entry, dossier.now) for entry in _folded(entries)]


def _entries(dossier: Dossier) -> Iterator[Entry]:
    f = dossier.fulfilment
    asked = money(f.amount, f.currency)
    yield Entry(f.created_at, words.who(f.started_by), f"asked for {asked} to be paid out")
    for attempt in dossier.attempts:
        yield from _attempt(attempt, words.provider(f.connector))
    for evidence in dossier.evidence:
        yield _evidence(evidence, dossier)
    for action in dossier.actions:
        yield _action(action, dossier.number)
    for move in dossier.transitions:
        yield _move(move, dossier.number)


def _attempt(attempt: Attempt, provider: str) -> Iterator[Entry]:
    who = words.who(attempt.worker)
    if attempt.maybe_sent:
        yield _lost(attempt, provider)
        return
    yield Entry(attempt.claimed_at, who, f"began attempt {attempt.number}")
    if attempt.sent_at is not None:
        yield Entry(attempt.sent_at, who, f"sent attempt {attempt.number} to {provider}")
    if attempt.closed_at is not None:
        outcome = (attempt.outcome or "").replace("_", " ")
        yield Entry(attempt.closed_at, "Ledgerline", f"closed attempt {attempt.number}: {outcome}")


def _lost(attempt: Attempt, provider: str) -> Entry:
    """Nobody is known to have begun it: it stands for what a restored backup does not tell."""
    return Entry(
        attempt.closed_at or attempt.claimed_at,
        words.who(attempt.worker),
        f"restored a backup: attempt {attempt.number} stands for what it does not tell",
        f"It may have been sent to {provider} since, and counts as sent.",
        tone="unknown",
    )


def _evidence(evidence: Evidence, dossier: Dossier) -> Entry:
    return Entry(
        moment=evidence.recorded_at,
        who=_speaker(evidence, dossier),
        what=f"{words.says(evidence.finding)}{_sum(evidence)}",
        detail=words.hide(_grounds(evidence), dossier.number),
        kind=evidence.source,
        tone=words.tone(evidence.finding) if evidence.conclusive else "unknown",
    )


def _speaker(evidence: Evidence, dossier: Dossier) -> str:
    if evidence.source not in PROVIDER_SOURCES:
        return words.who(evidence.actor)
    provider = words.provider(dossier.fulfilment.connector)
    if evidence.source == Source.WEBHOOK:
        return f"{provider}, by an event"
    if evidence.source == Source.STATEMENT:
        return f"{provider}, in a statement that we fetched"
    if evidence.source == Source.RESPONSE:
        return f"{provider}, answering our call"
    staff = evidence.actor.startswith("staff:")
    return f"{provider}, asked {f'by {words.who(evidence.actor)}' if staff else 'automatically'}"


def _sum(evidence: Evidence) -> str:
    return "" if evidence.amount is None else f": {money(evidence.amount, evidence.currency)}"


def _grounds(evidence: Evidence) -> str:
    status = f"“{evidence.provider_status}”" if evidence.provider_status else ""
    name = f"their id {evidence.provider_id}" if evidence.provider_id else ""
    weight = "conclusive" if evidence.conclusive else "not conclusive"
    parts = (evidence.detail, status, name, weight, _removed(evidence))
    return "; ".join(part for part in parts if part)


def _removed(evidence: Evidence) -> str:
    """What is left of a body that the clean-up took away."""
    if not evidence.digest or evidence.has_body:  # type: ignore[attr-defined]  # annotated
        return ""
    return f"body removed after {span(conf().payloads_kept)} (SHA-256 {evidence.digest})"


def _action(action: CaseAction, number: str) -> Entry:
    known = action.verdict in {*State, AGAIN}
    verdict = words.verdict(action.verdict) if known else ""
    grounds = f"evidence: {action.evidence_reference}" if action.evidence_reference else ""
    reason = str(action.case.get_reason_display())
    if action.action == CaseAction.Action.OPENED and reason not in action.note:
        grounds = reason
    return Entry(
        moment=action.acted_at,
        who=words.who(action.actor),
        what=": ".join(part for part in (words.done(action.action), verdict) if part),
        detail=words.hide("; ".join(part for part in (grounds, action.note) if part), number),
        kind="case",
    )


def _move(move: Transition, number: str) -> Entry:
    before = words.badge(move.before).text if move.before in set(State) else "new"
    after = words.badge(move.after)
    return Entry(
        moment=move.moved_at,
        who=words.who(move.actor),
        what=f"moved it from “{before}” to “{after.text}”",
        detail=words.hide(move.reason, number),
        kind="move",
        tone=after.tone,
    )


def _folded(entries: Iterable[Entry]) -> Iterator[Entry]:
    for _, group in groupby(entries, key=lambda e: (e.kind, e.who, e.what, e.detail)):
        alike = list(group)
        first, last = alike[0], alike[-1]
        if first.kind == Source.LOOKUP and len(alike) >= FOLD_FROM:
            yield Entry(
                first.moment, first.who, first.what, first.detail, first.kind, first.tone,
                last=last.moment, count=len(alike),
            )  # fmt: skip
        else:
            yield from alike


def _line(entry: Entry, now: datetime) -> Line:
    who = entry.who if entry.who.endswith("(staff)") else capfirst(entry.who)
    return Line(entry, who, when(entry.moment, now=now), when(entry.last, now=now, missing=""))
