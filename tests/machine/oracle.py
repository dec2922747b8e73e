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
        self.owner: int | None = None  # whose the claim is
        self.until: datetime | None = None  # how long
        self.unproven: set[int] = set()  # owners that marked a call of which nobody knows the end
        self.broken: str | None = None
        self.arriving: set[int] = set()  # whose call may still arrive, whatever was found out

    @property
    def open(self) -> bool:
        """The key is in use, and its outcome is not known."""
        return self.body is not None and self.final is None

    def told(
        self, decision: contract.Decision, *, body: str, record: Record, now: datetime
    ) -> None:
        """A client was told this."""
        if body != self.body:
            self._must(isinstance(decision, contract.Reused), f"another body was told {decision}")
        elif self.final is not None:
            self._must(isinstance(decision, contract.Replay), f"a finished key was told {decision}")
            self._must(
                decision.answer == self.final, "a replay differs from the first final answer"
            )
        elif record.held_at is not None:
            self._must(
                isinstance(decision, contract.Held), f"what nobody knows was told as {decision}"
            )
        else:
            over = record.locked_until is not None and record.locked_until <= now
            wanted = contract.Expired if over else contract.InProgress
            self._must(isinstance(decision, wanted), f"{decision}, and its lease is over: {over}")
        if isinstance(decision, contract.InProgress | contract.Held):
            self._must(1 <= decision.retry_after <= 60, "nobody is told when to come again")

    def claimed(self, owner: int, *, body: str, until: datetime) -> None:
        """The first request has the key."""
        self.body, self.owner, self.until = body, owner, until

    def taken(self, owner: int, *, body: str, asks: bool, until: datetime) -> None:
        """Somebody took it over."""
        self._must(body == self.body, "another body took a key over")
        self._must(self.final is None, "a finished key was taken over")
        self._must(asks or not self.unproven, "it runs before anybody asked about the last call")
        self._must(self.unproven or not asks, "somebody is asked about a call that nobody has made")
        self.owner, self.until = owner, until

    def acts(self, owner: int) -> None:
        """An owner changed its row."""
        self._must(owner == self.owner, "a late owner changed a key that is not its own any more")

    def marked(self, owner: int, *, over: datetime) -> None:
        """A call is about to be made, which is over at that time."""
        self.acts(owner)
        self._must(self.until is not None, "a call is made without a lease")
        self._must(over <= self.until, "a call is made that its lease does not cover")
        self.unproven.add(owner)
        self.arriving.add(owner)

    def released(self, owner: int, *, gone: bool) -> None:
        """Its own call was never made, and that is on record; the row may be gone."""
        self.acts(owner)
        self.unproven.discard(owner)
        if gone:
            self.forgotten()

    def cleared(self, *, until: datetime) -> None:
        """It was found out that nothing has happened so far."""
        self.unproven.clear()
        self.until = until

    def runs(self, fingerprint: str) -> None:
        """A handler begins."""
        self._must(fingerprint == self.body, "another body runs under the key")
        self._must(self.final is None, "a finished key runs again")
        self._must(
            not self.unproven, "it runs again before anybody asked what became of the last call"
        )

    def settled(self, answer: Answer, *, effects: int) -> None:
        """An answer was stored, together with the business rows of a success."""
        first, self.final = self.final, answer
        self._must(first is None, "a second answer replaced the first final one")
        self._must(answer.status not in {409, 425, 429}, "a 'not now' is stored for ever")
        self._must(answer.status < 500, "a failure of ours is stored for ever")
        self.unproven.clear()
        self.owner = None
        if answer.status < 400 and self.applied is None:
            self._must(effects, "a success is stored of what never happened")
            self.applied = (self.body or "", answer)
        elif answer.status < 400:
            self._must(self.applied == (self.body, answer), "the business rows were written twice")

    def forgotten(self) -> None:
        """The row is gone: the key is as if it had never been used."""
        self._must(not self.arriving, "a key is free whose reference may have arrived")
        self.body = self.owner = None

    def retired(self) -> None:
        """The row was cleaned away after its time."""
        self._must(self.final is not None, "a key was deleted whose outcome is open")
        self.final = self.body = None
        self.arriving.clear()  # no owner is left

    def _must(self, holds: object, sentence: str) -> None:
        if not holds:
            self.broken = sentence
        assert holds, sentence
