"""The claim of a leased handler: it owns its key beyond any transaction, until its lease is over."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NoReturn
from uuid import UUID

from asgiref.sync import sync_to_async
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.http import HttpResponse
from django.http.response import HttpResponseBase

from idempotency import contract, leases, store, transactions
from idempotency.checkpoints import checkpoint
from idempotency.claims import Claim
from idempotency.contract import Answer, Decision
from idempotency.operations import Terms


@dataclass(slots=True, kw_only=True)
class LeasedClaim(Claim):
    """`request.idempotency` inside a leased handler, which calls `sending` and `settling`.

    claim.sending()             # committed: from here on a crash is asked about
    opened = desk.open(claim.reference, deadline=claim.deadline)
    with claim.settling():      # the transaction in which the answer is stored, too
        order = Order.objects.create(reference=claim.reference, desk_id=opened.id)
        return Response({"order": order.pk}, status=201)

    An async handler says so in two other words:

    await claim.asending()
    opened = await desk.open(claim.reference, deadline=claim.deadline)
    return claim.settle_with(lambda: placed(claim.reference, opened))  # writes, then the response
    """

    token: UUID
    terms: Terms = field(repr=False)
    sent: bool = False
    awaited: bool = False  # while an async handler runs: between two steps nothing may stay open
    _open: ExitStack | None = field(default=None, repr=False)

    @property
    def deadline(self) -> timedelta:
        """How long an external call may take: the lease covers it from `sending()` on."""
        return self.terms.deadline

    def sending(self) -> None:
        """Commit that an external call is about to be made; make it right after this returns.

        Call it before each external call, outside any transaction. Raises ClaimLost, and then no
        call may be made: the key was taken over, or what is left of the lease covers no call.
        """
        using = store.alias(None)
        if transactions.is_inside(using):
            raise ImproperlyConfigured(
                "sending() commits its mark before the call, so neither may stand in a transaction."
            )
        # one statement, and no transaction around it: committed when it returns
        leases.mark(self.scope, self.key, token=self.token, call=self.terms.call)
        self.sent = True
        checkpoint("leased.marked")

    async def asending(self) -> None:
        """As `sending`, for an async handler."""
        await sync_to_async(self.sending)()

    @contextmanager
    def settling(self) -> Iterator[None]:
        """Open the transaction of the last business writes: the answer is stored in it.

        Return from inside the block or after it: the transaction stays open until the handler has
        returned, then writes and answer commit together or not at all. An exception rolls back.
        Raises ClaimLost, before anything is written, if the key was taken over.
        """
        if self.awaited:
            raise ImproperlyConfigured(
                "An async handler returns settle_with(write): the transaction of settling() would "
                "stay open in a thread that others use."
            )
        checkpoint("leased.called")
        with ExitStack() as stack:
            stack.enter_context(self._transaction())
            yield
            self._open = stack.pop_all()

    def settle_with(self, write: Callable[[], HttpResponseBase]) -> HttpResponseBase:
        """The end of an async handler: return what this returns.

        `write()` makes the last business writes and the response, as the body of `settling()` does. It
        runs in a thread once the handler has returned, in one transaction with the stored answer: a
        transaction that stayed open while something is awaited would be everybody's in its thread.
        """
        return _Last(write)

    def defer(self, response: object, *, then: object = None) -> NoReturn:
        """Not in leased mode: raises ImproperlyConfigured."""
        raise ImproperlyConfigured("Only an atomic handler defers; a leased one settles or holds.")

    # What follows is the contract's part, after the handler.

    def ended(self, response: HttpResponseBase) -> HttpResponseBase:
        """The handler's response; made only now if it ended with `settle_with`."""
        self.awaited = False
        if not isinstance(response, _Last):
            return response
        with self.settling():
            return response.make()

    def settle(self, answer: Callable[[], Answer]) -> Answer:
        """Store the answer, in the transaction that the handler left open or in one of its own.

        Raises ClaimLost if the key was taken over, and whatever COMMIT raises.
        """
        opened, self._open = self._open, None
        with opened or self._transaction():
            final = answer()
            checkpoint("leased.settling")
            store.settle(self.scope, self.key, final, token=self.token)
        checkpoint("leased.settled")
        return final

    def undo(self) -> None:
        """Roll back what the handler left open."""
        opened, self._open = self._open, None
        if opened is not None:
            transaction.set_rollback(True, using=store.alias(None))
            opened.close()

    def hold(self, reason: str) -> Decision:
        """Nobody knows whether it happened. Raises ClaimLost if the key was taken over."""
        row = leases.hold(self.scope, self.key, token=self.token, reason=reason)
        return contract.decide(row.record, fingerprint=self.fingerprint, now=row.now)

    def release(self) -> None:
        """Nothing happened. Raises ClaimLost if the key was taken over."""
        leases.release(self.scope, self.key, token=self.token)

    def restart(self, *, lease: timedelta) -> None:
        """It is certain that nothing happened yet. Raises ClaimLost if the key was taken over."""
        leases.restart(self.scope, self.key, token=self.token, lease=lease)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with transaction.atomic(using=store.alias(None), durable=True):
            leases.lock(self.scope, self.key, token=self.token)
            yield


class _Last(HttpResponse):
    """Stands for the response that `write` will make."""

    def __init__(self, write: Callable[[], HttpResponseBase]) -> None:
        super().__init__(status=500)  # what a client would see whose handler wrapped it in another
        self.make = write


def leased_claim_of(request: object) -> LeasedClaim:
    """`request.idempotency` of a leased handler with its type, for code that is checked.

    Raises LookupError outside a handler that is guarded in leased mode.
    """
    match getattr(request, "idempotency", None):
        case LeasedClaim() as claim:
            return claim
    raise LookupError("This request has no lease: its handler is not guarded in leased mode.")


def owned(claim: Claim, *, token: UUID, terms: Terms) -> LeasedClaim:
    """The claim with the lease that was won for it."""
    return LeasedClaim(
        scope=claim.scope,
        key=claim.key,
        operation=claim.operation,
        fingerprint=claim.fingerprint,
        asked=claim.asked,
        token=token,
        terms=terms,
    )
