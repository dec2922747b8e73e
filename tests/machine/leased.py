"""The life of one leased key: what clients, crashes, sweeps and people may do to it, in any order.

The rules are the steps of `leased`, `takeover` and `sweeps`, cut wherever a process may stop or die.
What is decided is decided by `idempotency.contract` and `idempotency.recovery`; what is stored is on
the shelf that `open_shelf` gives. An owner that is never called on again is a frozen or killed one.
"""

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from idempotency import contract, recovery
from idempotency.contract import Answer, Exit, Record
from idempotency.recovery import Done, NotDone
from idempotency.takeover import is_doubtful
from tests.machine.oracle import Oracle
from tests.machine.provider import FOUND, Provider
from tests.machine.shelf import LEASE, RETENTION, Shelf

SAME, OTHER = "f" * 64, "0" * 64
STEP = timedelta(minutes=10)  # never in step with a lease, a call or a back-off

BODIES = st.sampled_from([SAME, SAME, SAME, OTHER])
MOODS = st.sampled_from(["honest", "honest", "silent", "fails", "nonsense"])
TURN = st.integers(0, 5)

# Answers that a handler may give before it has called anybody, and after that.
BEFORE = st.sampled_from([400, 402, 404, 409, 425, 429, 500, 503])
AFTER = st.sampled_from([201, 201, 303, 409, 429, 500, 502, 504])


@dataclass
class Owner:
    """A process that was given the key. It does not know what became of that since."""

    number: int
    fingerprint: str
    doing: str = "running"  # -> marked -> called; or asking -> concluding
    record: Record | None = None  # what it asks about
    found: recovery.Recovery | None = None
    lease: timedelta = LEASE  # for the request, if nothing happened; 0: a sweep's


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
        self.made = 0

    def open_shelf(self) -> Any:
        return Shelf()

    @initialize(recognises=st.booleans())
    def begin(self, recognises: bool) -> None:
        self.provider = Provider(recognises)

    # what clients do

    @rule(body=BODIES)
    def request(self, body: str) -> None:
        standing = self._standing(body)
        if standing is None:
            owner = self._owner(body)
            assert self.shelf.claim(owner.number, fingerprint=body), "a free key was refused"
            self.oracle.body = body
            self._run(owner)
        elif isinstance(standing, contract.Expired | contract.Held):
            owner = self._owner(body)
            record = self.shelf.take_over(owner.number, fingerprint=body)
            if record is not None:
                self._taken(owner, record)

    # what the processes do that have the key

    @precondition(lambda self: self._doing("running", "marked"))
    @rule(turn=TURN)
    def mark(self, turn: int) -> None:
        owner = self._pick(turn, "running", "marked")
        if self.shelf.mark(owner.number):
            owner.doing = "marked"
            self.oracle.unproven.add(owner.number)
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
        owner = self._leaves(turn, "marked")
        if self.shelf.release(owner.number):
            self._released(owner)

    @precondition(lambda self: self._doing("running"))
    @rule(turn=TURN, status=BEFORE, raised=st.booleans(), unreadable=st.booleans())
    def end_before_a_call(self, turn: int, status: int, raised: bool, unreadable: bool) -> None:
        self._end(self._leaves(turn, "running"), status, raised=raised, unreadable=unreadable)

    @precondition(lambda self: self._doing("called"))
    @rule(turn=TURN, status=AFTER, raised=st.booleans())
    def end_after_the_call(self, turn: int, status: int, raised: bool) -> None:
        self._end(self._leaves(turn, "called"), status, raised=raised)

    @precondition(lambda self: self.owners)
    @rule(turn=TURN)
    def crash(self, turn: int) -> None:
        self.owners.pop(turn % len(self.owners))

    # what finds out

    @rule()
    def sweep(self) -> None:
        if self.shelf.forget_abandoned():
            self.oracle.forgotten()
        owner = self._owner(self.oracle.body or SAME, lease=timedelta(0))
        record = self.shelf.take_due(owner.number)
        if record is not None:
            assert is_doubtful(record), "somebody is asked about a call that nobody can have made"
            self._taken(owner, record)

    @precondition(lambda self: self._doing("asking"))
    @rule(turn=TURN, mood=MOODS)
    def ask(self, turn: int, mood: str) -> None:
        owner = self._pick(turn, "asking")
        assert owner.record is not None
        owner.found = recovery.ask(lambda record: self.provider.ask(mood, record), owner.record)
        owner.doing = "concluding"

    @precondition(lambda self: self._doing("concluding"))
    @rule(turn=TURN)
    def conclude(self, turn: int) -> None:
        owner = self._leaves(turn, "concluding")
        match owner.found:
            case Done() as done:
                try:
                    answer = recovery.answer_of(done)
                except ValueError:
                    self.shelf.hold(owner.number)
                else:
                    self._settle(owner, answer)
            case NotDone():
                if self.shelf.restart(owner.number, lease=owner.lease):
                    self.oracle.unproven.clear()
                    if owner.lease:
                        self._run(owner)
            case _:
                self.shelf.hold(owner.number)

    @rule(happened=st.booleans())
    def decide_by_hand(self, happened: bool) -> None:
        """A person who knows: from the provider's books, and that no call is under way."""
        under_way = any(o.doing == "marked" for o in self.owners) and not self.provider.recognises
        if happened and self.provider.effects and self.shelf.settle_held(FOUND):
            self.oracle.settled(FOUND, effects=self.provider.effects)
        elif not happened and not self.provider.effects and not under_way and self.shelf.free():
            self.oracle.unproven.clear()

    @rule(steps=st.integers(1, 4))
    def wait(self, steps: int) -> None:
        self.shelf.wait(STEP * steps)

    @precondition(lambda self: not self.owners)
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
        self.end_of_the_story()

    def end_of_the_story(self) -> None:
        """Everybody dies. With one sweep and a provider that answers, no key stays in between."""
        self.owners.clear()
        self.shelf.wait(LEASE * 4)
        self.sweep()
        for step in (self.ask, self.conclude):
            if self.owners:
                step(turn=0, **({"mood": "honest"} if step == self.ask else {}))
        told = self._standing(self.oracle.body or SAME)
        assert not isinstance(told, contract.InProgress | contract.Deferred), (
            "a key is in progress although its owner is dead and a sweep went by"
        )
        if isinstance(told, contract.Held):
            assert not self.provider.recognises, "what the provider could tell is still unknown"
        self.one_effect()

    # how the steps hang together

    def _standing(self, body: str) -> contract.Decision | None:
        seen = self.shelf.look()
        if seen is None:
            assert self.oracle.final is None, "a final answer is gone before its time"
            return None
        record, now = seen
        told = contract.decide(record, fingerprint=body, now=now)
        self.oracle.told(told, body=body, record=record, now=now)
        return told

    def _run(self, owner: Owner) -> None:
        self.oracle.runs(owner.fingerprint)
        if self.oracle.applied is None:
            owner.doing = "running"
            self.owners.append(owner)
            return
        fingerprint, answer = self.oracle.applied  # the handler finds its reference on record
        if fingerprint == owner.fingerprint:
            self._settle(owner, answer)
        elif self.shelf.release(owner.number):
            self._released(owner)

    def _taken(self, owner: Owner, record: Record) -> None:
        assert record.fingerprint == owner.fingerprint == self.oracle.body, (
            "another body took a key over"
        )
        if is_doubtful(record):
            owner.doing, owner.record = "asking", record
            self.owners.append(owner)
        else:
            self._run(owner)

    def _end(self, owner: Owner, status: int, *, raised: bool, unreadable: bool = False) -> None:
        leave = contract.exit_of(status, raised=raised, input_refused=unreadable)
        if leave is not Exit.ROLL_BACK:
            self._settle(owner, Answer(status, (), b"%d by %d" % (status, owner.number)))
        elif owner.number in self.oracle.unproven or owner.doing == "called":
            self.shelf.hold(owner.number)
        elif self.shelf.release(owner.number):
            self._released(owner)

    def _settle(self, owner: Owner, answer: Answer) -> None:
        if self.shelf.settle(owner.number, answer):  # else ClaimLost: its writes are rolled back
            self.oracle.settled(answer, effects=self.provider.effects)

    def _released(self, owner: Owner) -> None:
        self.oracle.unproven.discard(owner.number)
        if self.shelf.look() is None:
            self.oracle.forgotten()

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
