"""The life of one leased key: what clients, crashes, sweeps and people may do to it, in any order.

The rules are the steps of `leased`, `takeover` and `sweeps`, cut wherever a process may stop or die.
What is decided is decided by `idempotency.contract` and `idempotency.recovery`; what is stored is on
the shelf that `open_shelf` gives. An owner that is never called on again is a frozen or killed one.
"""

import logging
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from idempotency import contract, recovery
from idempotency.contract import Answer, Exit, Record
from idempotency.recovery import Done, NotDone
from idempotency.takeover import is_doubtful
from tests.machine.oracle import Oracle
from tests.machine.owners import (
    AFTER,
    AFTER_A_WHILE,
    BEFORE,
    BODIES,
    MOODS,
    SAME,
    STEP,
    TURN,
    Owner,
)
from tests.machine.provider import FOUND, Provider
from tests.machine.shelf import CALL, LEASE, RETENTION, Shelf


class LeasedLife(RuleBasedStateMachine):
    """One effect per key; a replay is the first final answer; nothing runs on what nobody knows."""

    def __init__(self) -> None:
        super().__init__()
        logging.disable(
            logging.CRITICAL
        )  # hooks that fail are many here, and each says so at length
        self.shelf: Any = self.open_shelf()
        self.oracle = Oracle()
        self.provider = Provider(recognises=True)
        self.owners: list[Owner] = []
        self.visitors: list[tuple[str, contract.Decision | None]] = []
        self.made = 0

    def open_shelf(self) -> Any:
        return Shelf()

    @initialize(recognises=st.sampled_from([True, True, False]))
    def begin(self, recognises: bool) -> None:
        self.provider = Provider(recognises)

    # what clients do

    @rule(body=BODIES, after=AFTER_A_WHILE)
    def request(self, body: str, after: timedelta) -> None:
        self.shelf.wait(after)
        self._enter(body, self._standing(body))

    @precondition(lambda self: not self.visitors)
    @rule(body=BODIES)
    def look_at_the_key(self, body: str) -> None:
        """A slow request: it acts on what it saw when that may not be so any more."""
        self.visitors.append((body, self._standing(body)))

    @precondition(lambda self: self.visitors)
    @rule()
    def act_on_what_was_seen(self) -> None:
        self._enter(*self.visitors.pop())

    # what the processes do that have the key

    @precondition(lambda self: self._doing("running", "marked"))
    @rule(turn=TURN)
    def mark(self, turn: int) -> None:
        owner = self._pick(turn, "running", "marked")
        if self.shelf.mark(owner.number):
            owner.doing = "marked"
            self.oracle.marked(owner.number, over=self.shelf.now + CALL)
        else:
            self.owners.remove(owner)  # ClaimLost: no call is made

    @precondition(lambda self: self._doing("marked"))
    @rule(turn=TURN)
    def call(self, turn: int) -> None:
        owner = self._pick(turn, "marked")
        owner.doing = "called"
        self.provider.call(owner.fingerprint)

    @precondition(lambda self: self._doing("marked"))
    @rule(turn=TURN)
    def prove_that_nothing_was_begun(self, turn: int) -> None:
        self._release(self._leaves(turn, "marked"))

    @precondition(lambda self: self._doing("running"))
    @rule(turn=TURN, status=BEFORE, raised=st.booleans(), unreadable=st.booleans())
    def end_before_a_call(self, turn: int, status: int, raised: bool, unreadable: bool) -> None:
        self._end(self._leaves(turn, "running"), status, raised=raised, unreadable=unreadable)

    @precondition(lambda self: self._doing("called"))
    @rule(turn=TURN, status=AFTER, raised=st.booleans())
    def end_after_the_call(self, turn: int, status: int, raised: bool) -> None:
        self._end(self._leaves(turn, "called"), status, raised=raised)

    @precondition(lambda self: len(self.owners) > 2)
    @rule(turn=TURN)
    def crash(self, turn: int) -> None:
        self.owners.pop(turn % len(self.owners))

    # what finds out

    @precondition(lambda self: self.oracle.open)
    @rule(after=AFTER_A_WHILE)
    def sweep(self, after: timedelta = 0 * STEP) -> None:
        self.shelf.wait(after)
        if self.shelf.forget_abandoned():
            self.oracle.forgotten()
        owner = self._owner(self.oracle.body or SAME, lease=timedelta(0))
        record = self.shelf.take_due(owner.number)
        if record is not None:
            self._taken(owner, record)

    @precondition(lambda self: self._doing("asking"))
    @rule(turn=TURN, mood=MOODS, slow=st.booleans())
    def ask(self, turn: int, mood: str, slow: bool = True) -> None:
        owner = self._pick(turn, "asking")
        assert owner.record is not None
        owner.found = recovery.ask(lambda record: self.provider.ask(mood, record), owner.record)
        owner.doing = "concluding"
        if not slow:
            self._conclude(owner)

    @precondition(lambda self: self._doing("concluding"))
    @rule(turn=TURN)
    def conclude(self, turn: int) -> None:
        self._conclude(self._pick(turn, "concluding"))

    def _conclude(self, owner: Owner) -> None:
        self.owners.remove(owner)
        match owner.found:
            case Done() as done:
                try:
                    answer = recovery.answer_of(done)
                except ValueError:
                    self._hold(owner)
                else:
                    self._settle(owner, answer)
            case NotDone():
                if self.shelf.restart(owner.number, lease=owner.lease):
                    self.oracle.acts(owner.number)
                    self.oracle.cleared(until=self.shelf.now + owner.lease)
                    if owner.lease:
                        self._run(owner)
            case _:
                self._hold(owner)

    @precondition(lambda self: self.oracle.open and self.oracle.unproven)
    @rule(happened=st.booleans())
    def decide_by_hand(self, happened: bool) -> None:
        """A person who knows: from the provider's books, and that no call is under way."""
        under_way = any(o.doing == "marked" for o in self.owners) and not self.provider.recognises
        if happened and self.provider.effects and self.shelf.settle_held(FOUND):
            self.oracle.settled(FOUND, effects=self.provider.effects)
        elif not happened and not self.provider.effects and not under_way and self.shelf.free():
            self.oracle.cleared(until=self.shelf.now)
            self.oracle.owner = None

    @precondition(lambda self: self.oracle.unproven)
    @rule()
    def wait(self) -> None:
        self.shelf.wait(STEP)

    @precondition(lambda self: self.oracle.final and not self.owners and not self.visitors)
    @rule()
    def retire(self) -> None:
        self.shelf.wait(RETENTION + STEP)
        if self.shelf.retire():
            self.oracle.retired()

    # what must hold

    @invariant()
    def one_effect(self) -> None:
        assert self.provider.effects <= 1, "the other system acted twice for one key"
        assert len(self.provider.heard) <= 1, "two requests reached it under one reference"

    def teardown(self) -> None:
        logging.disable(logging.NOTSET)
        if self.oracle.broken is None:
            self.end_of_the_story()

    def end_of_the_story(self) -> None:
        """Everybody dies. With one sweep and a provider that answers, no key stays in between."""
        self.owners.clear()
        self.visitors.clear()
        self.shelf.wait(LEASE * 4)
        self.sweep()
        if self.owners:
            self.ask(turn=0, mood="honest", slow=False)
        told = self._standing(self.oracle.body or SAME)
        assert not isinstance(told, contract.InProgress | contract.Deferred), (
            "a key is in progress although its owner is dead and a sweep went by"
        )
        if isinstance(told, contract.Held):
            assert not self.provider.recognises, "what the provider could tell is still unknown"
        self.one_effect()
        self.retire()

    # how the steps hang together

    def _standing(self, body: str) -> contract.Decision | None:
        seen = self.shelf.look()
        if seen is None:
            assert self.oracle.body is None, "a key is gone that was neither freed nor retired"
            return None
        record, now = seen
        told = contract.decide(record, fingerprint=body, now=now)
        self.oracle.told(told, body=body, record=record, now=now)
        return told

    def _enter(self, body: str, standing: contract.Decision | None) -> None:
        owner = self._owner(body)
        if standing is None:
            if self.shelf.claim(owner.number, fingerprint=body):
                self.oracle.claimed(owner.number, body=body, until=self.shelf.now + LEASE)
                self._run(owner)
                return
            standing = self._standing(body)
        if isinstance(standing, contract.Expired | contract.Held):
            record = self.shelf.take_over(owner.number, fingerprint=body)
            if record is not None:
                self._taken(owner, record)

    def _taken(self, owner: Owner, record: Record) -> None:
        asks = is_doubtful(record)
        until = self.shelf.now + LEASE
        self.oracle.taken(owner.number, body=owner.fingerprint, asks=asks, until=until)
        if asks:
            owner.doing, owner.record = "asking", record
            self.owners.append(owner)
        else:
            self._run(owner)

    def _run(self, owner: Owner) -> None:
        self.oracle.runs(owner.fingerprint)
        if self.oracle.applied is None:
            owner.doing = "running"
            self.owners.append(owner)
            return
        fingerprint, answer = self.oracle.applied  # the handler finds its reference on record
        if fingerprint == owner.fingerprint:
            self._settle(owner, answer)
        else:
            self._release(owner)

    def _end(self, owner: Owner, status: int, *, raised: bool, unreadable: bool = False) -> None:
        leave = contract.exit_of(status, raised=raised, input_refused=unreadable)
        if leave is not Exit.ROLL_BACK:
            self._settle(owner, Answer(status, (), b"%d by %d" % (status, owner.number)))
        elif owner.doing == "called":
            self._hold(owner)
        else:
            self._release(owner)

    def _settle(self, owner: Owner, answer: Answer) -> None:
        if self.shelf.settle(owner.number, answer):  # else ClaimLost: its writes are rolled back
            self.oracle.acts(owner.number)
            self.oracle.settled(answer, effects=self.provider.effects)

    def _hold(self, owner: Owner) -> None:
        if self.shelf.hold(owner.number):
            self.oracle.acts(owner.number)

    def _release(self, owner: Owner) -> None:
        self.oracle.arriving.discard(owner.number)
        if self.shelf.release(owner.number):
            self.oracle.released(owner.number, gone=self.shelf.look() is None)

    def _owner(self, body: str, *, lease: timedelta = LEASE) -> Owner:
        self.made += 1
        return Owner(self.made, body, lease=lease)

    def _doing(self, *kinds: str) -> list[Owner]:
        return [owner for owner in self.owners if owner.doing in kinds]

    def _pick(self, turn: int, *kinds: str) -> Owner:
        those = self._doing(*kinds)
        return those[turn % len(those)]

    def _leaves(self, turn: int, *kinds: str) -> Owner:
        owner = self._pick(turn, *kinds)
        self.owners.remove(owner)
        return owner
