"""Atomic mode: claim, business rows and stored answer commit in one transaction, or none of them."""

from dataclasses import dataclass
from typing import TypeAlias

from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, InternalError, OperationalError, connections, transaction
from django.http.response import HttpResponseBase

from idempotency import contract, errors, responses, store
from idempotency.calls import Call
from idempotency.claims import Claim
from idempotency.contract import Decision, Exit

_IDLE_TOO_LONG = "25P03"  # the server ended the transaction of a process that had stopped


@dataclass(frozen=True, slots=True)
class Settled:
    """The key is finished with this answer; `replayed` if it is an older one under a new row."""

    captured: responses.Captured
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Provisional:
    """The business rows are committed, the outcome is open, nothing is stored of this answer."""

    response: HttpResponseBase


@dataclass(frozen=True, slots=True)
class RolledBack:
    """Nothing happened and nothing is stored; the answer says why."""

    response: HttpResponseBase


Ending: TypeAlias = Settled | Provisional | RolledBack


def run(call: Call, claim: Claim | None) -> Ending | Decision:
    """Run the handler once under its claim, or say what stands in its way.

    Without a claim (the key is optional and absent) the handler has the same transaction, unguarded.
    Raises what the handler raises and nobody can render, and whatever COMMIT raises.
    """
    using = store.alias(None)
    _refuse_outer_transaction(using)
    try:
        with transaction.atomic(using=using, durable=True):
            if claim is not None and not _claimed(claim):
                return _stands(claim)
            ending = _attempt(call, claim, using)
            if isinstance(ending, RolledBack):
                transaction.set_rollback(True, using=using)
            elif isinstance(ending, Settled) and claim is not None:
                store.settle(claim.scope, claim.key, ending.captured.answer)
    except errors.Transient as error:
        return _nothing_happened(error)
    except (OperationalError, InterfaceError, InternalError) as error:
        if isinstance(error, InternalError) and not _ended_by_server(error):
            raise  # a bug in the handler's use of the transaction
        return _nothing_happened(errors.Unavailable())
    else:
        return ending  # only now: a COMMIT that fails must never look like a success


def _attempt(call: Call, claim: Claim | None, using: str) -> Ending:
    call.bind(claim)
    try:
        # A savepoint inside the claim: undoing a refusal's writes must leave the claim standing.
        with transaction.atomic(using=using):
            response = call.run()
    except (errors.Transient, OperationalError, InterfaceError):
        raise
    except errors.AlreadyApplied as applied:
        return _applied(applied, claim)
    except errors.Stated as refusal:
        return _ending(responses.respond(refusal.answer()), raised=True)
    except Exception as error:  # noqa: BLE001  explain() raises again what the view does not know
        refused = isinstance(error, call.unreadable)
        return _ending(call.explain(error), raised=True, input_refused=refused)
    if claim is not None and response is claim.deferred:
        return Provisional(response)
    return _ending(response, raised=False)


def _ending(response: HttpResponseBase, *, raised: bool, input_refused: bool = False) -> Ending:
    leave = contract.exit_of(response.status_code, raised=raised, input_refused=input_refused)
    return RolledBack(response) if leave is Exit.ROLL_BACK else Settled(responses.capture(response))


def _applied(applied: errors.AlreadyApplied, claim: Claim | None) -> Ending:
    if claim is None or applied.fingerprint != claim.fingerprint:
        return RolledBack(responses.respond(errors.KeyReused().answer()))
    first = responses.respond(applied.answer, replayed=True)
    return Settled(responses.Captured(applied.answer, first), replayed=True)


def _claimed(claim: Claim) -> bool:
    return store.claim(
        claim.scope, key=claim.key, fingerprint=claim.fingerprint, operation=claim.operation
    )


def _stands(claim: Claim) -> Decision:
    """A later statement than the claim, which alone sees what made the claim fail."""
    row = store.read(claim.scope, claim.key)
    if row is None:
        return contract.InProgress()
    return contract.decide(row.record, fingerprint=claim.fingerprint, now=row.now)


def _refuse_outer_transaction(using: str) -> None:
    """The claim must commit together with the answer and before it is sent: nobody else's commit."""
    blocks = connections[using].atomic_blocks
    if blocks and not getattr(blocks[-1], "_from_testcase", False):
        raise ImproperlyConfigured(
            "An idempotent view owns its transaction, but it was called inside another one. "
            f"Set ATOMIC_REQUESTS to False for the database {using!r}, and do not wrap the view "
            "in transaction.atomic()."
        )


def _nothing_happened(error: errors.Transient) -> RolledBack:
    return RolledBack(responses.respond(error.answer()))


def _ended_by_server(error: Exception) -> bool:
    return getattr(error.__cause__, "sqlstate", None) == _IDLE_TOO_LONG
