"""The flow of a guarded request, on one screen. `awaiting` has it for handlers that are awaited."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from django.http.response import HttpResponseBase

from idempotency import atomic, cache, claims, delivery, errors, leased, reports, transactions
from idempotency.calls import Call
from idempotency.claims import Claim
from idempotency.contract import Decision, Progress
from idempotency.endings import Ending
from idempotency.leased_claims import LeasedClaim
from idempotency.operations import Terms

SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})  # RFC 9110, 9.2.1: they ignore the header


@dataclass(frozen=True, slots=True)
class Guard:
    """How one view is guarded."""

    operation: str
    required: bool
    progress: str | Callable[..., Progress] | None
    terms: Terms | None  # of leased mode

    @property
    def mode(self) -> str:
        """`atomic` or `leased`."""
        return "leased" if self.terms else "atomic"


@dataclass(frozen=True, slots=True)
class Begun:
    """The handler may run: under this claim, or without one where the key is optional and absent."""

    claim: Claim | None
    send: Callable[..., HttpResponseBase]


def serve(call: Call, guard: Guard) -> HttpResponseBase:
    """Read key → fingerprint → cached answer? → claim → run → settle."""
    if call.http.method in SAFE:
        response: HttpResponseBase = call.handler()
        return response
    with transactions.own(call.http):
        begun = begin(call, guard)
        return end(call, guard, begun) if isinstance(begun, Begun) else begun


def begin(call: Call, guard: Guard) -> Begun | HttpResponseBase:
    """Read key → fingerprint → cached answer? → in leased mode the claim; or what stands in the way."""
    with reports.watching(call, guard.operation):
        try:
            claim = claims.read(
                call.request, http=call.http, operation=guard.operation, required=guard.required
            )
        except errors.Stated as refused:
            return delivery.refuse(refused, call=call, operation=guard.operation)
        send = _sender(call, guard, claim)
        slot = None if claim is None else cache.slot(claim)
        decided = slot.get(claim) if slot and claim else None
        if decided is not None:
            return send(decided)
        mine = leased.start(claim, guard.terms) if claim and guard.terms else claim
        if mine is None or isinstance(mine, Claim):
            return Begun(mine, partial(send, slot=slot))
        return send(mine, slot=slot)


def end(call: Call, guard: Guard, begun: Begun) -> HttpResponseBase:
    """Run the handler, then settle, or say why not; in atomic mode all of it in one transaction."""
    with reports.watching(call, guard.operation):
        if isinstance(begun.claim, LeasedClaim):
            return begun.send(leased.finish(call, begun.claim))
        return begun.send(atomic.run(call, begun.claim))


def _sender(call: Call, guard: Guard, claim: Claim | None) -> Callable[..., HttpResponseBase]:
    def send(decided: Ending | Decision, *, slot: cache.Slot | None = None) -> HttpResponseBase:
        return delivery.send(
            decided,
            call=call,
            operation=guard.operation,
            claim=claim,
            progress=guard.progress,
            slot=slot or (cache.slot_after_look(claim) if claim else None),
        )

    return send
