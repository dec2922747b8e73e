"""`gate.claim`: own an action before doing it, whoever else wants to do it at this moment.

leased:  claim, committed ──> the block ──> settle          an exception: held, unless it proves
                                                            that nothing happened: released
atomic:  claim ──> the block ──> settle ──> one COMMIT      an exception: rolled back, so released
"""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from math import ceil
from typing import Literal
from uuid import uuid4

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError, transaction

from idempotency import conf, transactions
from idempotency.checkpoints import checkpoint
from idempotency.errors import ClaimLost, NothingHappened
from idempotency.gate import errors, results, slots
from idempotency.gate.handle import Action
from idempotency.gate.identity import UNGATED, Identity, Target, identity_of

log = logging.getLogger("idempotency")

OnOutage = Literal["refuse", "run"]


@contextmanager
def claim(
    action: str,
    *,
    target: Target = UNGATED,
    key: str | None = None,
    namespace: str | None = None,
    atomic: bool = False,
    lease: timedelta | None = None,
    on_outage: OnOutage = "refuse",
) -> Iterator[Action]:
    """Do the block once for this `action` on this `target`, ever.

    `key` narrows it to one of several such actions on the target; `namespace` says whose target it
    is. None of them may hold anything that differs between two tries, such as the id of a request.
    Without a target and a key the block runs each time, and a log line says so.

    Leased (the default) is for effects outside the database, and must not be entered inside a
    transaction (ImproperlyConfigured): the claim is committed before the block begins, and belongs
    to it for `lease` (ACTION_LEASE, 5 minutes). `atomic` is for effects inside it: claim, block and
    result commit together, in the caller's transaction or in one of its own, in which no statement
    may take longer than the lease.

    Raises, before the block begins: AlreadySettled, which has the earlier result; InProgress; Held;
    Closed, if the log cannot be read. With `on_outage="run"` the block runs all the same then,
    possibly twice: for what is harmless only.
    """
    refuse_combination(atomic=atomic, on_outage=on_outage)
    identity = identity_of(action, target=target, key=key, namespace=namespace)
    terms = lease or conf.current().action_lease
    if identity is None:
        yield _ungated(action, "gate_ungated")
    elif atomic:
        with _within_one_transaction(identity, lease=terms) as mine:
            yield mine
    else:
        with _leased(identity, lease=terms, on_outage=on_outage) as mine:
            yield mine


@contextmanager
def _leased(identity: Identity, *, lease: timedelta, on_outage: OnOutage) -> Iterator[Action]:
    if transactions.is_inside(slots.alias()):
        raise ImproperlyConfigured(
            "A leased action was claimed inside a transaction: its claim could not be seen by "
            "others before the work begins. Use atomic=True, or claim outside the transaction."
        )
    try:
        with _closed_on_outage(identity), transaction.atomic(using=slots.alias(), durable=True):
            mine = _claimed(identity, lease=lease)
    except errors.Closed:
        if on_outage == "refuse":
            raise
        mine = _ungated(identity.action, "gate_outage_ignored")
    checkpoint("gate.claimed")
    try:
        yield mine
        checkpoint("gate.settling")
        if not mine.ended:
            mine.settle()
    except BaseException as error:
        _leave(mine, error)
        raise


@contextmanager
def _within_one_transaction(identity: Identity, *, lease: timedelta) -> Iterator[Action]:
    within = transactions.is_inside(slots.alias())
    with ExitStack() as stack:
        with _closed_on_outage(identity):
            stack.enter_context(transaction.atomic(using=slots.alias()))
            mine = _claimed(identity, lease=lease, statements=lease, within=within)
        yield mine
        checkpoint("gate.settling")
        if not mine.ended:
            mine.settle()


@contextmanager
def _closed_on_outage(identity: Identity) -> Iterator[None]:
    """Whatever keeps us from the log keeps us from the action: Closed."""
    try:
        yield
    except (DatabaseError, InterfaceError) as error:
        log.warning("log of actions closed", extra=_about(identity, "gate_closed"), exc_info=True)
        raise errors.Closed from error


def _claimed(
    identity: Identity,
    *,
    lease: timedelta,
    statements: timedelta | None = None,
    within: bool = False,
) -> Action:
    token = uuid4()
    # Only an early-out: the insert decides, and whoever slips by here is refused there.
    _refuse_standing(identity)
    if not slots.claim(identity, token=token, lease=lease, statements=statements, within=within):
        _refuse_standing(identity)  # a later statement, which sees what the insert ran into
        raise errors.InProgress(slot=identity.slot)
    log.info("action claimed", extra=_about(identity, "gate_claimed"))
    return Action(identity.action, identity=identity, token=token)


def _refuse_standing(identity: Identity) -> None:
    """Raises what stands in the slot; nothing if it is free."""
    row = slots.read(identity)
    if row is None:
        return
    if row.state == "settled":
        raise errors.AlreadySettled(
            slot=identity.slot,
            result=results.decoded(row.result),
            omitted=row.result is None,
            at=row.settled_at,
        )
    if row.state == "held":
        raise errors.Held(slot=identity.slot, reason=row.hold_reason, since=row.held_at)
    if row.expired:  # the sweep is about to say so
        raise errors.Held(slot=identity.slot, reason=EXPIRED, since=row.locked_until)
    raise errors.InProgress(slot=identity.slot, retry_after=_seconds_left(row))


EXPIRED = "its lease is over and nobody said what became of it"


def _seconds_left(row: slots.Row) -> int:
    left = (row.locked_until or row.now) - row.now
    return min(_SELDOM, ceil(left.total_seconds()))


_SELDOM = 5  # seconds; most actions end long before their lease does


def _leave(mine: Action, error: BaseException) -> None:
    """Release what provably did not happen, hold the rest; what was said already stands.

    Never raises: the error of the block is the one to hear about. What cannot be written now is
    held by the sweep, when the lease is over.
    """
    try:
        transactions.revive(slots.alias())
        if isinstance(error, NothingHappened):
            mine.release()
        else:
            mine.hold(f"the action ended with {type(error).__name__}")
    except ClaimLost:
        return
    except (DatabaseError, InterfaceError):
        extra = {"action": "gate_end_lost", "operation": mine.name, "slot": mine.slot}
        log.exception("the end of an action was not recorded", extra=extra)


def _ungated(action: str, word: str) -> Action:
    log.warning("action runs ungated", extra={"action": word, "operation": action})
    return Action(action, identity=None, token=None)


def refuse_combination(*, atomic: bool, on_outage: str) -> None:
    """Raises ImproperlyConfigured for what cannot be promised."""
    if on_outage not in {"refuse", "run"}:
        raise ImproperlyConfigured(f"on_outage is 'refuse' or 'run', not {on_outage!r}.")
    if atomic and on_outage == "run":
        raise ImproperlyConfigured(
            "An atomic action writes to the database that the log is in: it cannot run without it."
        )


def _about(identity: Identity, action: str) -> dict[str, str]:
    return {"action": action, "operation": identity.action, "slot": identity.slot}
