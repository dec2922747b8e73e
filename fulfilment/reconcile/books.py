"""A verdict and what it does to the project's own books: both, or neither."""

from collections.abc import Callable
from typing import TypeVar

from django.db import DatabaseError, OperationalError

from fulfilment import transitions
from fulfilment.errors import HandlerFailed
from fulfilment.handlers import Handler, handlers_of
from fulfilment.models import Attempt, Evidence, Fulfilment
from fulfilment.reconcile import casebook, generations, timing
from fulfilment.reconcile.verdicts import Fail, Fulfil, Reverse
from fulfilment.states import State

T = TypeVar("T")


_STATE = {Fulfil: State.FULFILLED, Reverse: State.REVERSED, Fail: State.FAILED}


def apply(
    row: Fulfilment,
    verdict: Fulfil | Reverse | Fail,
    *,
    actor: str,
    attempt: Attempt | None = None,
) -> Fulfilment:
    """Settle as the rules have judged, on the evidence that they name. Raises as `settle`.

    What was done and is known to have been given back is posted, and then reversed.
    """
    evidence = row.evidence.get(pk=verdict.fact)
    again = isinstance(verdict, Fail) and told(lambda: generations.wanted(row, evidence))
    row = settle(
        row,
        to=_STATE[type(verdict)],
        reason=verdict.reason,
        evidence=evidence,
        actor=actor,
        attempt=attempt,
        again=again,
    )
    if isinstance(verdict, Fulfil) and verdict.then is not None:
        return apply(row, verdict.then, actor=actor)
    return row


def settle(
    row: Fulfilment,
    *,
    to: State,
    reason: str,
    evidence: Evidence,
    actor: str,
    attempt: Attempt | None = None,
    again: bool = False,
) -> Fulfilment:
    """Give the verdict and tell the project's books, in the caller's transaction.

    What failed and is sent `again` is not told: the payment's next generation is opened instead.

    Raises `HandlerFailed` where the books refuse; the caller's transaction must then end. A lost
    connection, a deadlock or a lock that is not free is not their refusal: it is raised as it is,
    everything is undone, and the next look at the row tries again.
    """
    recheck_at = timing.first_recheck_at(row.connector) if to is State.FULFILLED else None
    moved = transitions.move(
        row,
        to=to,
        actor=actor,
        reason=reason,
        evidence=evidence,
        attempt=attempt,
        recheck_at=recheck_at,
    )
    if moved is None:
        raise transitions.stale(row.pk)
    if again:
        opened = generations.open_next(moved, actor=actor)
        reason = f"{reason}; sent again under the reference {opened.reference}"
    else:
        handler = _handler(moved, to=to)
        told(lambda: handler(moved, evidence))
    casebook.close_case(moved, actor=actor, note=reason)
    return moved


def tell_cancelled(row: Fulfilment) -> None:
    """Tell the books that nothing was sent; for a kind that wants to know. Raises as `settle`."""
    handler = handlers_of(row.kind).on_cancelled
    if handler is not None:
        told(lambda: handler(row))


def told(tell: Callable[[], T]) -> T:
    """What the books say to it; their refusal as `HandlerFailed`."""
    try:
        return tell()
    except OperationalError:
        raise
    except Exception as error:
        raise HandlerFailed(_why(error)) from error


def _handler(row: Fulfilment, *, to: State) -> Handler:
    handlers = handlers_of(row.kind)
    by_state = {State.FULFILLED: handlers.on_fulfilled, State.REVERSED: handlers.on_reversed}
    return by_state.get(to, handlers.on_failed)


def _why(error: Exception) -> str:
    """The kind of error; a database's words may quote a customer's row."""
    name = type(error).__name__
    return name if isinstance(error, DatabaseError) else f"{name}: {error}"[:400]
