"""Atomic mode: claim, business rows and stored answer commit in one transaction, or none of them."""

from django.db import InterfaceError, InternalError, OperationalError, transaction
from django.http.response import HttpResponseBase

from idempotency import claims, contract, errors, responses, store, transactions
from idempotency.calls import Call
from idempotency.checkpoints import checkpoint
from idempotency.claims import Claim
from idempotency.contract import Decision, Exit
from idempotency.endings import Ending, Provisional, RolledBack, Settled, nothing_happened


def run(call: Call, claim: Claim | None) -> Ending | Decision:
    """Run the handler once under its claim, or say what stands in its way.

    Without a claim (the key is optional and absent) the handler has the same transaction, unguarded.
    Raises what the handler raises and nobody can render, and whatever COMMIT raises.
    """
    using = store.alias(None)
    transactions.refuse_outer(using)
    try:
        with transaction.atomic(using=using, durable=True):
            if claim is not None and not _claimed(claim):
                return claims.standing(claim)
            ending = _attempt(call, claim, using)
            checkpoint("atomic.written")
            if isinstance(ending, RolledBack):
                transaction.set_rollback(True, using=using)
            elif isinstance(ending, Settled) and claim is not None:
                store.settle(claim.scope, claim.key, ending.captured.answer)
    except errors.Transient as error:
        return nothing_happened(error)
    except (OperationalError, InterfaceError, InternalError) as error:
        if not transactions.is_outage(error):
            raise  # a bug in the handler's use of the transaction
        return nothing_happened(errors.Unavailable())
    else:
        checkpoint("atomic.settled")
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
        refused = isinstance(refusal, errors.InputRefused)
        return _ending(responses.respond(refusal.answer()), raised=True, input_refused=refused)
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
