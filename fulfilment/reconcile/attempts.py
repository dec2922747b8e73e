"""What an attempt proves: whether it may have reached the provider, and when it no longer can. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from fulfilment.reconcile.evidence import Fact, Finding, Source

# The caller's own answers after which nothing of that attempt is under way any more.
_ENDED = frozenset(Finding) - {Finding.UNKNOWN}
# ... and after which it is as if it had never been made.
HARMLESS = frozenset({Finding.NOT_SENT, Finding.REFUSED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One attempt with the answers that its own call gave."""

    number: int
    claimed_at: datetime
    lease_until: datetime
    sent_at: datetime | None = None
    maybe_sent: bool = False  # after a restored backup
    closed_at: datetime | None = None
    answers: frozenset[Finding] = frozenset()

    @property
    def may_have_arrived(self) -> bool:
        """Could the provider have got it? Never closed, it still could be sent."""
        if self.closed_at is None:
            return True
        sent = self.sent_at is not None or self.maybe_sent
        return sent and not self.answers & HARMLESS

    @property
    def lost_its_worker(self) -> bool:
        """Did its worker die, or disappear, between the mark and the answer?"""
        return self.sent_at is not None and self.closed_at is not None and not self.answers

    @property
    def sent_from(self) -> datetime:
        """When it was sent, or the earliest moment when it can have been."""
        return self.sent_at or self.claimed_at

    def sent_by(self, *, call: timedelta) -> datetime:
        """The latest moment at which its call can have begun, by all that is known.

        Its worker may be paused behind the mark, and calls as long as `call` (total deadline +
        margin) still fits into its lease. Not after it came back with an answer.
        """
        latest = max(self.lease_until - call, self.sent_from)
        came_back = bool(self.answers) and not self.maybe_sent
        return min(latest, self.closed_at) if self.closed_at and came_back else latest

    def fenced_at(self, *, call: timedelta) -> datetime | None:
        """From when on nothing of it can begin any more; None while it is open.

        Its worker may be paused behind the mark and wake up, so time must pass: the lease, and
        `call` (total deadline + margin). Not where the worker itself came back with an answer,
        and not where the mark was never made: a closed attempt cannot be marked.
        """
        if self.closed_at is None:
            return None
        if not (self.sent_at or self.maybe_sent) or self.answers & _ENDED:
            return self.closed_at
        return self.lease_until + call


def own_answers(facts: Iterable[Fact], *, attempt: int) -> frozenset[Finding]:
    """What this attempt's own call said, also long after its token was dead."""
    return frozenset(
        f.finding for f in facts if f.source is Source.RESPONSE and f.attempt == attempt
    )
