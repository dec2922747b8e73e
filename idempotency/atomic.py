"""Atomic mode: claim, business rows and stored answer commit in one transaction, or none of them."""

from collections.abc import Callable
from contextlib import ExitStack

from django.db import InterfaceError, InternalError, OperationalError, transaction
from django.http.response import HttpResponseBase

from idempotency import batches, claims, contract, errors, responses, store, transactions
from idempotency.calls import Call
from idempotency.checkpoints import checkpoint
from idempotency.claims import Claim
from idempotency.contract import Answer, Decision, Exit
from idempotency.endings import Ending, Provisional, RolledBack, Settled, nothing_happened


def run(call: Call, claim: Claim | None) -> Ending | Decision:
    """Run the handler once under its claim, or say what stands in its way.

    Without a claim (the key is optional and absent) the handler has the same transaction, unguarded.
    Raises what the handler raises and nobody can render, and whatever COMMIT raises.

    Round trips to the database: the look at the key; BEGIN, claim and savepoint; the handler's own;
    its release, the answer and COMMIT.
    """
    using = store.alias(None)
    transactions.refuse_outer(using)
    try:
        standing = None if claim is None else claims.on_record(claim)
        ended = standing or _work(call, claim, using)
    except errors.Transient as error:
        return nothing_happened(error)
    except (OperationalError, InterfaceError, InternalError) as error:
        if not transactions.is_outage(error):
            raise  # a bug in the handler's use of the transaction
        return nothing_happened(errors.Unavailable())
    else:
        checkpoint("atomic.settled")
        return ended


def _work(call: Call, claim: Claim | None, using: str) -> Ending | Decision:
    """The one transaction. It returns after COMMIT: one that fails must never look like a success."""
    with transaction.atomic(using=using, durable=True), ExitStack() as savepoint:
        standing = _begin(claim, savepoint, using)
        if standing is not None:
            _commit(savepoint, using)
            return standing
        ending = _attempt(call, claim, savepoint, using)
        checkpoint("atomic.written")
        if isinstance(ending, RolledBack):
            _roll_back(savepoint, using)
        elif isinstance(ending, Settled) and claim is not None:
            _commit(savepoint, using, lambda: _settle(claim, ending.captured.answer))
        else:
            _commit(savepoint, using)
        return ending


def _begin(claim: Claim | None, savepoint: ExitStack, using: str) -> Decision | None:
    """BEGIN, claim, and a savepoint inside it: undoing a refusal's writes leaves the claim standing.

    None, or what stands in the way, read in a later statement, which alone sees that.
    """
    with batches.opening(using):
        won = None if claim is None else _claiming(claim)
        savepoint.enter_context(transaction.atomic(using=using))
    return None if won is None or claim is None or won() else claims.standing(claim)


def _attempt(call: Call, claim: Claim | None, savepoint: ExitStack, using: str) -> Ending:
    call.bind(claim)
    deferred = False

    def ended(response: HttpResponseBase) -> HttpResponseBase:
        nonlocal deferred  # asked of what the handler returned: the view may put it into an envelope
        deferred = claim is not None and response is claim.deferred
        return response

    try:
        response = call.run(ended)
    except (errors.Transient, OperationalError, InterfaceError):
        raise
    except errors.AlreadyApplied as applied:
        transaction.set_rollback(True, using=using)
        return _applied(applied, claim)
    except errors.Stated as refusal:
        transaction.set_rollback(True, using=using)
        refused = isinstance(refusal, errors.InputRefused)
        return _ending(responses.respond(refusal.answer()), raised=True, input_refused=refused)
    except Exception as error:  # noqa: BLE001  explain() raises again what the view does not know
        _undo(savepoint, using)  # the view may ask the database what to say
        refused = isinstance(error, call.unreadable)
        return _ending(call.explain(error), raised=True, input_refused=refused)
    undone = _refuse_undone_success(response, using)
    return Provisional(response) if deferred else _ending(response, raised=undone)


def _refuse_undone_success(response: HttpResponseBase, using: str) -> bool:
    """Will what the handler wrote be rolled back? A refusal may want that; a success never.

    Raises TransactionManagementError for a success: its answer would be stored, and its writes lost.
    """
    undone = transaction.get_rollback(using)
    if undone and response.status_code < 400:
        raise transaction.TransactionManagementError(
            f"The handler answered {response.status_code}, but its transaction is to be rolled back: "
            "an error of the database was caught without a savepoint around it, or somebody called "
            "set_rollback(). Nothing was stored."
        )
    return undone


def _commit(savepoint: ExitStack, using: str, settle: Callable[[], None] = lambda: None) -> None:
    """The savepoint's end, the answer and COMMIT, in one trip; a refusal's writes go here.

    Raises ClaimLost, and whatever COMMIT raises.
    """
    with store.losing(), batches.closing(using):
        savepoint.close()
        settle()


def _roll_back(savepoint: ExitStack, using: str) -> None:
    """Everything goes, the claim too."""
    transaction.set_rollback(True, using=using)
    with batches.closing(using, commit=False):
        savepoint.close()
    transaction.set_rollback(True, using=using)  # the savepoint's end has taken the mark away


def _undo(savepoint: ExitStack, using: str) -> None:
    """Roll back what the handler wrote; the claim stands."""
    transaction.set_rollback(True, using=using)
    with batches.batch(using):
        savepoint.close()


def _ending(response: HttpResponseBase, *, raised: bool, input_refused: bool = False) -> Ending:
    leave = contract.exit_of(response.status_code, raised=raised, input_refused=input_refused)
    return RolledBack(response) if leave is Exit.ROLL_BACK else Settled(responses.capture(response))


def _applied(applied: errors.AlreadyApplied, claim: Claim | None) -> Ending:
    if claim is None or applied.fingerprint != claim.fingerprint_like(applied.fingerprint):
        return RolledBack(responses.respond(errors.KeyReused().answer()))
    first = responses.respond(applied.answer, replayed=True)
    return Settled(responses.Captured(applied.answer, first), replayed=True)


def _claiming(claim: Claim) -> Callable[[], bool]:
    return store.claiming(
        claim.scope, key=claim.key, fingerprint=claim.fingerprint, operation=claim.operation
    )


def _settle(claim: Claim, answer: Answer) -> None:
    store.settle(claim.scope, claim.key, answer)
