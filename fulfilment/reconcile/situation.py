"""All that is known about one fulfilment, at one moment. Pure."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fulfilment.connectors.base import Capabilities, Dedupe
from fulfilment.reconcile.attempts import Try
from fulfilment.reconcile.evidence import Fact, Finding, Source
from fulfilment.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the provider promises and how patient we are."""

    capabilities: Capabilities
    lease: timedelta
    total_deadline: timedelta
    margin: timedelta
    case_deadline: timedelta
    crashes: int

    @property
    def call(self) -> timedelta:
        """How long a call that just began may still matter."""
        return self.total_deadline + self.margin


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that is known about one fulfilment at `now` (the database's clock)."""

    state: State
    amount: int
    currency: str
    rules: Rules
    now: datetime
    facts: tuple[Fact, ...] = ()  # oldest first
    tries: tuple[Try, ...] = ()
    failed_starts: int = 0
    judged_at: datetime | None = None  # a person closed the last case then, knowing what was said
    paid_before: str = ""  # an earlier reference of this payment that was paid after all
    news: frozenset[int] = field(default_factory=frozenset)  # facts that nobody has judged yet

    @property
    def told(self) -> tuple[Fact, ...]:
        """What the provider said; a person's word is a verdict, not evidence for one."""
        return tuple(f for f in self.facts if f.source is not Source.PERSON)

    @property
    def unresolved(self) -> tuple[Try, ...]:
        """The attempts that may have reached the provider."""
        return tuple(t for t in self.tries if t.may_have_arrived)

    @property
    def crashes(self) -> int:
        """How many workers died with it, before they sent it or after."""
        return self.failed_starts + sum(t.lost_its_worker for t in self.tries)

    @property
    def fenced_at(self) -> datetime | None:
        """From when on none of the attempts can begin anything; None while one is open."""
        moments = [t.fenced_at(call=self.rules.call) for t in self.unresolved]
        known = [moment for moment in moments if moment is not None]
        if len(known) < len(moments):
            return None
        return max(known, default=self.now)

    @property
    def fenced(self) -> bool:
        """Can none of the attempts begin anything any more?"""
        return self.fenced_at is not None and self.fenced_at <= self.now

    @property
    def window_open(self) -> bool:
        """Would the provider still recognise the reference at the end of an attempt opened now?

        A worker that is paused before its call may make it as long as its lease covers it.
        """
        match self.rules.capabilities.dedupe:
            case Dedupe.REFERENCE_FOREVER:
                return True
            case Dedupe.KEY_WINDOW:
                window = self.rules.capabilities.dedupe_window
                first_sent = min(t.sent_from for t in self.unresolved)
                return window is not None and self.now + self.rules.lease < first_sent + window
            case _:
                return False

    def said(self, finding: Finding) -> Fact | None:
        """The provider's last conclusive word of this kind."""
        facts = [f for f in self.told if f.conclusive and f.finding is finding]
        return facts[-1] if facts else None
