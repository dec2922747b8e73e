"""What must hold of one key, kept apart from whatever is on record: each sentence can be broken."""

from datetime import datetime

from idempotency import contract
from idempotency.contract import Answer, Record


class Oracle:
    """One effect per key; a replay is the first final answer; nothing runs on what nobody knows."""

    def __init__(self) -> None:
        self.body: str | None = None  # whose the key is
        self.final: Answer | None = None
        self.applied: tuple[str, Answer] | None = None  # the business row, kept for ever
        self.unproven: set[int] = set()  # owners that marked a call of which nobody knows the end

    def told(
        self, decision: contract.Decision, *, body: str, record: Record, now: datetime
    ) -> None:
        """A client was told this."""
        if body != self.body:
            assert isinstance(decision, contract.Reused), f"another body was told {decision}"
        elif self.final is not None:
            assert isinstance(decision, contract.Replay), f"a finished key was told {decision}"
            assert decision.answer == self.final, "a replay differs from the first final answer"
        elif record.held_at is not None:
            assert isinstance(decision, contract.Held), f"what nobody knows was told as {decision}"
        else:
            over = record.locked_until is not None and record.locked_until <= now
            wanted = contract.Expired if over else contract.InProgress
            assert isinstance(decision, wanted), f"{decision}, and its lease is over: {over}"
        if isinstance(decision, contract.InProgress | contract.Held):
            assert 1 <= decision.retry_after <= 60, "nobody is told when to come again"

    def runs(self, fingerprint: str) -> None:
        """A handler begins."""
        assert fingerprint == self.body, "another body runs under the key"
        assert self.final is None, "a finished key runs again"
        assert not self.unproven, "it runs again before anybody asked what became of the last call"

    def settled(self, answer: Answer, *, effects: int) -> None:
        """An answer was stored, together with the business rows of a success."""
        first, self.final = self.final, answer
        assert first is None, "a second answer replaced the first final one"
        assert answer.status not in {409, 425, 429}, "a 'not now' is stored for ever"
        assert answer.status < 500, "a failure of ours is stored for ever"
        self.unproven.clear()
        if answer.status < 400 and self.applied is None:
            assert effects, "a success is stored of what never happened"
            self.applied = (self.body or "", answer)
        elif answer.status < 400:
            assert self.applied == (self.body, answer), "the business rows were written twice"

    def forgotten(self) -> None:
        """The row is gone: the key is as if it had never been used."""
        assert not self.unproven, "a key was forgotten under which a call may have been made"
        self.body = None

    def retired(self) -> None:
        """The row was cleaned away after its time."""
        assert self.final is not None, "a key was deleted whose outcome is open"
        self.final = self.body = None
