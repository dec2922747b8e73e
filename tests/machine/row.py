"""Our side of the policy's machine: one row with its attempts and its evidence, and the real policy.

It applies a verdict as `resolve` does, and asserts on the provider's books whenever it decides.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from fulfilment.reconcile import policy
from fulfilment.reconcile.attempts import Try, own_answers
from fulfilment.reconcile.evidence import CONCLUSIVE, HAPPENED, Fact, Finding, Source
from fulfilment.reconcile.situation import Rules, Situation
from fulfilment.reconcile.verdicts import Ask, Conflict, Fail, Fulfil, OpenCase, Requeue, Reverse
from fulfilment.states import State, may_move
from tests.unit.fulfilment.build import LEASE

ASK_AGAIN = timedelta(minutes=2)


@dataclass
class Row:
    """One fulfilment; `can_still_happen`: an effect exists, or can still come to exist."""

    rules: Rules
    now: datetime
    effects: Callable[[], int]
    can_still_happen: Callable[[], bool]
    state: State = State.PENDING
    next_check_at: datetime | None = None
    facts: list[Fact] = field(default_factory=list)
    tries: list[Try] = field(default_factory=list)
    failed_starts: int = 0
    judged_at: datetime | None = None
    case_open: bool = False
    by_person: bool = False  # a person's word stands: it is not the policy's to be right about

    def __post_init__(self) -> None:
        self.next_check_at = self.now

    def situation(self, *, news: frozenset[int] = frozenset()) -> Situation:
        tries = [replace(t, answers=own_answers(self.facts, attempt=t.number)) for t in self.tries]
        return Situation(
            state=self.state,
            amount=500,
            currency="NGN",
            rules=self.rules,
            now=self.now,
            facts=tuple(self.facts),
            tries=tuple(tries),
            failed_starts=self.failed_starts,
            judged_at=self.judged_at,
            news=news,
        )

    def claim(self) -> Try | None:
        """A worker takes the row, if it is due and may be sent."""
        if self.state is not State.PENDING or self.next_check_at is None:
            return None
        self.now = max(self.now, self.next_check_at)
        if not policy.may_send(self.situation()):
            self._move(State.NEEDS_RECONCILIATION)
            self.judge()
            return None
        begun = Try(number=len(self.tries) + 1, claimed_at=self.now, lease_until=self.now + LEASE)
        self.tries.append(begun)
        self._move(State.DISPATCHING)
        return begun

    def mark(self, number: int) -> bool:
        begun = self.tries[number - 1]
        in_time = self.now + self.rules.call <= begun.lease_until
        if begun.closed_at is not None or not in_time:
            return False
        self.tries[number - 1] = replace(begun, sent_at=self.now)
        return True

    def sweep(self) -> None:
        """Close what its worker held too long."""
        for begun in self.tries:
            if begun.closed_at is None and begun.lease_until <= self.now:
                self.failed_starts += begun.sent_at is None
                self._close(begun.number)
                self.judge()

    def learn(self, finding: Finding, *, source: Source, **more: object) -> None:
        """Something was said: it is kept, and everything is judged."""
        said = self._keep(finding, source=source, **more)
        if source is Source.RESPONSE and said.attempt is not None:
            self._close(said.attempt)
        self.judge(news=frozenset({said.id}))

    def ruled(self, finding: Finding) -> None:
        """A person's verdict on a case, which only the fence may forbid."""
        if finding is Finding.NOT_DONE and not self.situation().fenced:
            return
        self.by_person, self.case_open, self.judged_at = True, False, self.now
        self._keep(finding, source=Source.PERSON)
        self._move(State.FULFILLED if finding is Finding.DONE else State.FAILED)

    def judge(self, *, news: frozenset[int] = frozenset()) -> None:
        if any(t.closed_at is None for t in self.tries):
            return
        verdict = policy.decide(self.situation(news=news))
        asks = isinstance(verdict, Requeue) and bool(verdict.case)
        if asks or isinstance(verdict, Conflict | OpenCase):
            self.case_open = True
        if isinstance(verdict, Reverse):
            self._move(State.REVERSED)
        if not self.state.is_open:
            return
        if self.state is State.PENDING and not isinstance(verdict, Fulfil | Fail | Conflict):
            return
        if self.state is not State.NEEDS_RECONCILIATION:
            self._move(State.NEEDS_RECONCILIATION)
        self._carry_out(verdict)

    def _carry_out(self, verdict: policy.Verdict) -> None:
        assert not isinstance(verdict, Ask), "a row without a verdict has none to be contested"
        match verdict:
            case Fulfil():
                assert self.effects() == 1, "fulfilled, and the provider has paid nobody"
                self._move(State.FULFILLED)
                if verdict.then:
                    self._move(State.REVERSED)
                self.case_open = False
            case Fail():
                assert not self.can_still_happen(), "failed, and the provider paid or still can"
                self._move(State.FAILED)
                self.case_open = False
            case Requeue():
                knew = self.rules.capabilities.lookup_by_reference
                assert not (knew and self.can_still_happen()), (
                    "sent again beside an effect: nothing but the provider's memory prevents a second"
                )
                self._move(State.PENDING)
            case _:
                until = getattr(verdict, "until", None)
                assert until is None or until > self.now, "what it waits for is over: a busy loop"
                self.next_check_at = min(until or self.now + ASK_AGAIN, self.now + ASK_AGAIN)

    def _move(self, to: State) -> None:
        assert may_move(self.state, to), f"no way leads from {self.state} to {to}"
        self.state = to
        self.next_check_at = self.now if to.is_open else None

    def _close(self, number: int) -> None:
        begun = self.tries[number - 1]
        if begun.closed_at is None:
            self.tries[number - 1] = replace(begun, closed_at=self.now)

    def _keep(self, finding: Finding, *, source: Source, **more: object) -> Fact:
        happened = finding in HAPPENED
        said = Fact(
            id=len(self.facts) + 1,
            source=source,
            finding=finding,
            recorded_at=self.now,
            conclusive=finding in CONCLUSIVE,
            amount=500 if happened else None,
            currency="NGN" if happened else "",
            **more,  # type: ignore[arg-type]
        )
        self.facts.append(said)
        return said
