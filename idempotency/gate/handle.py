"""What the holder of a claim has in hand: settle, release or hold it, once."""

import logging
from typing import Any
from uuid import UUID

from idempotency.gate import results, slots
from idempotency.gate.identity import Identity

log = logging.getLogger("idempotency")


class Action:
    """One action that is yours to do. Leaving the block without a word settles it."""

    def __init__(self, name: str, *, identity: Identity | None, token: UUID | None) -> None:
        self.name = name
        self.ended = False
        self._identity, self._token = identity, token

    @property
    def gated(self) -> bool:
        """False where nothing was claimed: no identity, or an outage that was said to be harmless."""
        return self._token is not None

    @property
    def slot(self) -> str:
        """The name of the claimed slot; empty without one."""
        return "" if self._identity is None else self._identity.slot

    def settle(self, result: Any = None) -> Any:
        """It happened, and this is what it came to. The slot stays taken for ever.

        Returns the result as every later caller gets it (see `results.encoded`); what could not be
        kept is returned as it is. Joins your transaction, if you are in one, so that your last
        writes and the settling commit together. Raises ClaimLost if the claim is not yours any
        more: somebody waited for longer than its lease, and your writes are to be rolled back.
        """
        text = results.encoded(result, action=self.name)
        if self._identity is not None and self._token is not None:
            slots.settle(self._identity, token=self._token, result=text)
            self._end("gate_settled")
        return result if text is None else results.decoded(text)

    def release(self) -> None:
        """Nothing happened, and that is certain: the next caller may do it. Raises ClaimLost."""
        if self._identity is not None and self._token is not None:
            slots.release(self._identity, token=self._token)
            self._end("gate_released")

    def hold(self, reason: str) -> None:
        """Nobody knows whether it happened: a person has to find out. Raises ClaimLost."""
        if self._identity is not None and self._token is not None:
            slots.hold(self._identity, token=self._token, reason=reason)
            self._end("gate_held")

    def _end(self, action: str) -> None:
        self.ended = True
        log.info(
            "action ended", extra={"action": action, "operation": self.name, "slot": self.slot}
        )
