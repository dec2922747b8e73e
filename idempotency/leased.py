"""Leased mode: the claim commits first, the handler calls another system, the answer commits last.

claim ──> handler ──> sending() ──> the call ──> settling() ──> settle
             │                         │
             └──> release              └──> hold ──> recover: settle, run again, hold on
"""

import logging
from dataclasses import dataclass
from uuid import uuid4

from django.http.response import HttpResponseBase

from idempotency import claims, contract, errors, responses, store, takeover, transactions
from idempotency.calls import Call
from idempotency.checkpoints import checkpoint
from idempotency.claims import Claim
from idempotency.contract import Decision, Exit
from idempotency.endings import Ending, RolledBack, Settled, nothing_happened
from idempotency.leased_claims import LeasedClaim, owned
from idempotency.operations import Terms

log = logging.getLogger("idempotency")


def start(claim: Claim, terms: Terms) -> LeasedClaim | Ending | Decision:
    """The key under a lease of its own, committed; or what stands in its way."""
    transactions.refuse_outer(store.alias(None))
    try:
        mine = _owned(claim, terms)
    except errors.VersionUnknown as unknown:
        return nothing_happened(unknown)
    except Exception as error:
        if not transactions.is_outage(error):
            raise
        log.warning("no claim: the database is away", extra=_about(claim), exc_info=True)
        return nothing_happened(errors.Unavailable())
    if isinstance(mine, LeasedClaim):
        checkpoint("leased.claimed")
    return mine


def finish(call: Call, claim: LeasedClaim) -> Ending | Decision:
    """Run the handler once and end its claim.

    Raises what the handler raises before its first external call and nobody can render; after that
    nothing is raised: what is not known is held.
    """
    try:
        return _work(call, claim)
    except Exception as error:
        if not transactions.is_outage(error):
            raise
        log.warning("lease left to run out", extra=_about(claim), exc_info=True)
        return contract.Held(None) if claim.sent else nothing_happened(errors.Unavailable())


@dataclass(frozen=True, slots=True)
class _Played:
    """What the handler did, judged by the rules of what is stored."""

    response: HttpResponseBase
    leave: Exit
    why: str  # for staff, should it be held; never a body
    proven: bool = False  # nothing happened, whatever the mark says
    unknown: bool = False  # it may have happened, whatever the mark says
    replayed: bool = False


def _owned(claim: Claim, terms: Terms) -> LeasedClaim | Settled | Decision:
    """The key, for its first request or from one that came to no end; else what stands in its way."""
    standing = claims.on_record(claim)
    if standing is None:
        mine = _claimed(claim, terms)
        if mine is not None:
            return mine
        standing = claims.standing(claim)
    return takeover.take(claim, terms, standing)


def _claimed(claim: Claim, terms: Terms) -> LeasedClaim | None:
    """The key for its first request, committed; None: there is a row, or about to be one."""
    token = uuid4()
    won = store.claim(  # one statement, and no transaction around it: committed when it returns
        claim.scope,
        key=claim.key,
        fingerprint=claim.fingerprint,
        operation=claim.operation,
        token=token,
        lease=terms.lease,
    )
    return owned(claim, token=token, terms=terms) if won else None


def _work(call: Call, claim: LeasedClaim) -> Ending | Decision:
    call.bind(claim)
    try:
        played = _play(call, claim)
        if played.leave is Exit.SETTLE:
            return _settled(claim, played)
        claim.undo()
        return _settled(claim, played) if played.leave is Exit.REFUSE else _leave(claim, played)
    except errors.ClaimLost:
        return claims.standing(claim)
    except Exception as error:  # noqa: BLE001  _broken() raises again what came before the mark
        claim.undo()
        return _broken(claim, error)
    except BaseException:  # the process ends, but perhaps not: a thread of a server may live on
        claim.undo()
        raise


def _play(call: Call, claim: LeasedClaim) -> _Played:
    try:
        response = call.run(claim.ended)
    except errors.ClaimLost as lost:  # by sending() or settling(): the handler got no further
        response = responses.respond(errors.Unavailable().answer())
        return _Played(response, Exit.ROLL_BACK, why=str(lost))
    except errors.AlreadyApplied as applied:
        return _applied(applied, claim)
    except errors.Stated as stated:
        return _stated(stated)
    except Exception as error:
        if transactions.is_outage(error):
            raise
        refused = isinstance(error, call.unreadable)
        response = call.explain(error)  # raises again what the view does not know
        return _judged(response, why=type(error).__name__, raised=True, input_refused=refused)
    return _judged(response, why=f"the handler answered {response.status_code}", raised=False)


def _judged(
    response: HttpResponseBase, *, why: str, raised: bool, input_refused: bool = False
) -> _Played:
    leave = contract.exit_of(response.status_code, raised=raised, input_refused=input_refused)
    return _Played(response, leave, why)


def _stated(error: errors.Stated) -> _Played:
    response = responses.respond(error.answer())
    return _Played(
        response,
        contract.exit_of(
            response.status_code,
            raised=True,
            input_refused=isinstance(error, errors.InputRefused),
        ),
        why=error.detail or type(error).__name__,
        proven=isinstance(error, errors.NothingHappened),
        unknown=isinstance(error, errors.OutcomeUnknown),
    )


def _applied(applied: errors.AlreadyApplied, claim: LeasedClaim) -> _Played:
    if applied.fingerprint != claim.fingerprint_like(applied.fingerprint):
        response = responses.respond(errors.KeyReused().answer())
        return _Played(response, Exit.ROLL_BACK, why="its reference belongs to another request")
    first = responses.respond(applied.answer)
    return _Played(first, Exit.SETTLE, why="", replayed=True)


def _settled(claim: LeasedClaim, played: _Played) -> Ending:
    captured = responses.capture(played.response)
    claim.settle(lambda: captured.answer)
    if not played.replayed:
        return Settled(captured)
    again = responses.respond(captured.answer, replayed=True)
    return Settled(responses.Captured(captured.answer, again), replayed=True)


def _leave(claim: LeasedClaim, played: _Played) -> Ending | Decision:
    """Nothing is stored of this: release before the mark, hold after it."""
    if played.unknown or (claim.sent and not played.proven):
        return claim.hold(played.why)
    claim.release()
    return RolledBack(played.response)


def _broken(claim: LeasedClaim, error: Exception) -> Ending | Decision:
    """Nobody can render this: a bug of the handler, or the database is gone."""
    transactions.revive(store.alias(None))
    outage = transactions.is_outage(error)
    if claim.sent:
        log.error("leased handler failed after its call", extra=_about(claim), exc_info=error)
    try:
        if claim.sent:
            return claim.hold(type(error).__name__)
        claim.release()
    except errors.ClaimLost:  # its COMMIT came through after all, or somebody else has the key
        return claims.standing(claim)
    if outage:
        return nothing_happened(errors.Unavailable())
    raise error


def _about(claim: Claim) -> dict[str, str]:
    return {
        "action": "leased_failed",
        "operation": claim.operation,
        "reference": claim.reference,
    }
