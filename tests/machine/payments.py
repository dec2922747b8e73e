"""Any order of losses, delays, repeats, crashes, frozen workers and verdicts, against the pure policy.

What a user relies on is asserted on the provider's books (`bank`), never on our own row.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fulfilment.connectors.base import Capabilities
from fulfilment.reconcile.evidence import Finding, Source
from fulfilment.reconcile.situation import Rules
from fulfilment.states import State
from tests.machine.bank import Bank
from tests.machine.row import Row
from tests.unit.fulfilment import build

PROVIDERS = {
    "knows references for ever": build.FOREVER,
    "knows keys for a day": build.WINDOW,
    "recognises nothing": build.NO_DEDUPE,
    "never says not found for good": build.NEVER_FINAL,
    "cannot be asked": build.BLIND,
    "keeps its errors": build.CACHED_ERRORS,
}
PASSES = [timedelta(seconds=s) for s in (1, 14, 31, 121, 3600, 6 * 3600, 86385)]
DECISIONS = [Finding.DONE, Finding.DONE, Finding.NOT_DONE, Finding.ACCEPTED]


@dataclass
class Call:
    """One worker's call. `until` is when its request is lost, if it has not arrived."""

    number: int
    marked_at: datetime
    begun: bool = False
    until: datetime | None = None  # None: nothing is on the wire (any more)
    payment: int | None = None  # which line of the provider's books it became
    worker: bool = True  # somebody still waits for the answer


class PaymentLife(RuleBasedStateMachine):
    """One payment at one provider that keeps its promises, and nothing else."""

    @initialize(promises=st.sampled_from(sorted(PROVIDERS)))
    def begin(self, promises: str) -> None:
        self.promises: Capabilities = PROVIDERS[promises]
        self.bank = Bank(self.promises)
        self.calls: list[Call] = []
        self.claimed: list[int] = []
        rules = Rules(
            capabilities=self.promises,
            lease=build.LEASE,
            total_deadline=build.DEADLINE,
            margin=build.MARGIN,
            case_deadline=timedelta(hours=24),
            crashes=5,
        )
        self.row = Row(
            rules,
            build.NOW,
            effects=lambda: self.bank.effects,
            can_still_happen=self._can_still_happen,
        )

    # Workers

    @rule()
    def a_worker_claims(self) -> None:
        if begun := self.row.claim():
            self.claimed.append(begun.number)

    @precondition(lambda self: self.claimed)
    @rule()
    def a_worker_marks(self) -> None:
        number = self.claimed.pop()
        if self.row.mark(number):
            self.calls.append(Call(number, self.row.now))

    @precondition(lambda self: self._waiting(begun=False))
    @rule(way=st.sampled_from(["out", "out", "out", "no route", "turned away"]))
    def a_worker_calls(self, way: str) -> None:
        call = self._waiting(begun=False)[-1]
        call.begun = True
        late = self.row.now > self.row.tries[call.number - 1].lease_until - self.row.rules.call
        if way == "out" and not late:
            call.until = self._lost_at(call)
            return
        refused = way == "turned away" and not late
        self._answer(call, Finding.REFUSED if refused else Finding.NOT_SENT)

    @precondition(lambda self: self._waiting(begun=True))
    @rule(heard=st.booleans(), last=st.booleans())
    def a_worker_comes_back(self, heard: bool, last: bool) -> None:
        call = self._waiting(begun=True)[-1 if last else 0]
        known = heard and call.payment is not None and not self.promises.errors_cached
        said = self.bank.payments[call.payment].last if known else Finding.UNKNOWN
        self._answer(call, said)

    @precondition(
        lambda self: self.claimed or self._waiting(begun=True) or self._waiting(begun=False)
    )
    @rule()
    def the_workers_die(self) -> None:
        self.claimed = []
        for call in self.calls:
            call.worker = False

    @rule()
    def the_sweeper_comes(self) -> None:
        self.row.sweep()

    # The network and the provider

    @precondition(lambda self: self._on_the_wire())
    @rule(decides=st.sampled_from(DECISIONS), last=st.booleans())
    def a_request_arrives(self, decides: Finding, last: bool) -> None:
        call = self._on_the_wire()[-1 if last else 0]
        call.until = None
        payment = self.bank.receive(at=self.row.now, decides=decides)
        call.payment = self.bank.payments.index(payment)

    @precondition(lambda self: self._on_the_wire())
    @rule()
    def a_request_is_lost(self) -> None:
        self._on_the_wire()[0].until = None

    @precondition(lambda self: self.bank.undecided())
    @rule(decides=st.sampled_from([Finding.DONE, Finding.DONE, Finding.NOT_DONE]))
    def the_provider_decides(self, decides: Finding) -> None:
        self.bank.undecided().history.append((self.row.now, decides))

    @precondition(lambda self: any(p.last is Finding.DONE for p in self.bank.payments))
    @rule()
    def the_money_comes_back(self) -> None:
        done = next(p for p in self.bank.payments if p.last is Finding.DONE)
        done.history.append((self.row.now, Finding.REVERSED))

    @precondition(lambda self: self.bank.undecided() and self._was_told(Finding.ACCEPTED))
    @rule()
    def the_provider_forgets_what_it_accepted(self) -> None:
        self.bank.undecided().forgotten = True

    @precondition(lambda self: self.bank.payments)
    @rule(data=st.data(), statement=st.booleans())
    def an_event_comes(self, data: st.DataObject, statement: bool) -> None:
        """Of any state that it ever had: late, again, or before an older one."""
        told = [finding for p in self.bank.payments for _, finding in p.history]
        source = Source.STATEMENT if statement else Source.WEBHOOK
        self.row.learn(data.draw(st.sampled_from(told)), source=source)

    # Questions

    @precondition(lambda self: self._can_be_asked())
    @rule(how=st.sampled_from(["now", "now", "stale", "down", "wrong key"]))
    def the_provider_is_asked(self, how: str) -> None:
        if how == "down":
            self.row.learn(Finding.NO_INFORMATION, source=Source.LOOKUP)
            return
        at = self.row.now - (self.promises.visible_after if how == "stale" else timedelta(0))
        found = None if how == "wrong key" else self.bank.shows(at=at)
        canary = found is None and how != "wrong key"
        self.row.learn(found or Finding.NOT_FOUND, source=Source.LOOKUP, canary=canary)

    @precondition(lambda self: self._can_be_asked())
    @rule(how=st.sampled_from(["now", "stale", "wrong key"]))
    def it_is_asked_again_and_again(self, how: str) -> None:
        """As the schedule does: answers that agree take time, and chance alone seldom finds it."""
        for _ in range(3):
            self.time_passes(self.promises.visible_after)
            if self._can_be_asked():
                self.the_provider_is_asked(how)

    @precondition(lambda self: self.row.case_open and self._can_be_ruled())
    @rule(word=st.sampled_from([Finding.DONE, Finding.NOT_DONE]), chance=st.integers(0, 3))
    def a_person_decides(self, word: Finding, chance: int) -> None:
        """Not every time: what the machine is about is what happens without anybody."""
        if chance:
            return
        if self._can_be_asked():
            self.the_provider_is_asked("now")
        if self.row.case_open and self._can_be_ruled():
            self.row.ruled(word)

    @rule(by=st.sampled_from(PASSES))
    def time_passes(self, by: timedelta) -> None:
        self.row.now += by
        for call in self._on_the_wire():
            if call.until < self.row.now:
                call.until = None

    # What must hold

    @invariant()
    def at_most_one_effect(self) -> None:
        assert self.bank.effects <= 1, "the provider paid twice under one reference"

    @invariant()
    def an_open_row_is_looked_at_again(self) -> None:
        assert not self.row.state.is_open or self.row.next_check_at is not None

    @invariant()
    def what_contradicts_a_verdict_reaches_a_person(self) -> None:
        row = self.row
        since = [f for f in row.facts if not row.judged_at or f.recorded_at > row.judged_at]
        if row.state is State.FAILED and any(f.finding is Finding.DONE for f in since):
            assert row.case_open, "we say failed, the provider says done, and nobody was told"

    def teardown(self) -> None:
        """From here on everything works: there is a verdict, or somebody works on it."""
        if not hasattr(self, "row"):
            return
        self.the_workers_die()
        for _ in range(60):
            if self.row.case_open or not self.row.state.is_open:
                return
            self._a_good_hour()
        raise AssertionError("sixty good hours later there is neither a verdict nor a case")

    def _a_good_hour(self) -> None:
        self.time_passes(timedelta(hours=1))
        self.row.sweep()
        if self._can_be_asked():
            self.the_provider_is_asked("now")
        self.a_worker_claims()
        if self.claimed:
            self.a_worker_marks()
            self.a_worker_calls("out")
            self.a_request_arrives(Finding.DONE, last=True)
            self.a_worker_comes_back(heard=True, last=True)
        self.row.judge()
        self.at_most_one_effect()

    # Helpers

    def _answer(self, call: Call, finding: Finding) -> None:
        call.worker = False
        self.row.learn(finding, source=Source.RESPONSE, attempt=call.number)

    def _waiting(self, *, begun: bool) -> list[Call]:
        return [c for c in self.calls if c.worker and c.begun is begun]

    def _on_the_wire(self) -> list[Call]:
        return [c for c in self.calls if c.until is not None]

    def _was_told(self, finding: Finding) -> bool:
        return any(f.finding is finding for f in self.row.facts)

    def _can_be_asked(self) -> bool:
        waits = self.row.state not in {State.PENDING, State.DISPATCHING}
        return waits and self.promises.lookup_by_reference

    def _can_be_ruled(self) -> bool:
        return self.row.state is State.NEEDS_RECONCILIATION

    def _lost_at(self, call: Call) -> datetime:
        """A slow request arrives at the latest when the provider promises that it would be seen."""
        final = self.promises.not_found_final_after or timedelta(0)
        slow = call.marked_at + final - self.promises.visible_after
        return max(self.row.now + build.DEADLINE, slow)

    def _can_still_happen(self) -> bool:
        """Is it paid, or accepted, or on its way to a provider that would not recognise it?"""
        unknown = self.bank.recognised(at=self.row.now) is None
        coming = self._on_the_wire() or [c for c in self._waiting(begun=False) if self._in_time(c)]
        return self.bank.may_pay or (unknown and bool(coming))

    def _in_time(self, call: Call) -> bool:
        return self.row.now <= self.row.tries[call.number - 1].lease_until - self.row.rules.call
