"""Whose transaction is it, and was it the database that ended it?"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, InternalError, OperationalError, connections
from django.http import HttpRequest

T = TypeVar("T")

_IDLE_TOO_LONG = "25P03"  # the server ended the transaction of a process that had stopped


def refuse_outer(using: str) -> None:
    """Raises ImproperlyConfigured inside somebody else's transaction.

    What the contract commits must be committed before the answer is sent, and by nobody else.
    """
    if is_inside(using):
        raise ImproperlyConfigured(
            "An idempotent view owns its transactions, but it was called inside another one on the "
            f"database {using!r}. Do not wrap it, its dispatch() or a middleware around it in "
            "transaction.atomic(), and do not call it from another guarded handler: one of the two "
            "is to be guarded. ATOMIC_REQUESTS may stay on."
        )


def is_inside(using: str) -> bool:
    """True inside a transaction; the one that Django's TestCase keeps around a test does not count."""
    blocks = connections[using].atomic_blocks
    return bool(blocks) and not getattr(blocks[-1], "_from_testcase", False)


@contextmanager
def own(request: HttpRequest) -> Iterator[None]:
    """Run a guarded request as if ATOMIC_REQUESTS were off.

    The transaction that Django keeps around the view ends here, as if the view began only now: what
    authentication wrote is committed, as it is without ATOMIC_REQUESTS. Nothing that decides may be
    left to that transaction: its COMMIT comes after the answer, and all it knows is "raised" or
    "returned". Django finds an empty one of its own afterwards, which costs no statement. A view
    that calls a guarded one keeps what it wrote before, again as without ATOMIC_REQUESTS. A
    transaction that anybody else has opened stays, for `refuse_outer` to name.
    """
    ended: list[tuple[str, Any]] = []
    try:
        for alias in _around(request):
            block = connections[alias].atomic_blocks[-1]
            ended.append((alias, block))
            block.__exit__(None, None, None)
        yield
    finally:
        for alias, block in ended:
            _begin_again(alias, block)


@contextmanager
def kept() -> Iterator[None]:
    """Keep what is open, whatever REST framework says of it while it renders an exception.

    With ATOMIC_REQUESTS on, its handler marks the innermost block for rollback. That is the claim's
    here: the view's own writes are undone already, and the refusal is about to be stored.
    """
    opened = [c for c in connections.all(initialized_only=True) if c.in_atomic_block]
    marks = [connection.get_rollback() for connection in opened]
    yield
    for connection, mark in zip(opened, marks, strict=True):
        connection.set_rollback(mark)


def first_look(using: str, look: Callable[[], T]) -> T:
    """What `look` reads before anything is begun; it is the connection's health check as well.

    Django's own check (CONN_HEALTH_CHECKS) would be a round trip more for every request. If the
    connection turns out to be dead, nothing was lost with it, and another one is tried.
    """
    connection: Any = connections[using]
    connection.health_check_done = True
    try:
        return look()
    except (OperationalError, InterfaceError):
        if connection.in_atomic_block or connection.is_usable():
            raise
        connection.close()
        return look()


def is_outage(error: Exception) -> bool:
    """True if the database could not do its work; False if the program asked for something wrong."""
    if isinstance(error, InternalError):
        return getattr(error.__cause__, "sqlstate", None) == _IDLE_TOO_LONG
    return isinstance(error, OperationalError | InterfaceError)


def revive(using: str) -> None:
    """Drop a connection that an outage has broken, so that the next statement opens another."""
    connection = connections[using]
    if not connection.in_atomic_block and not connection.is_usable():
        connection.close()


def _around(request: HttpRequest) -> list[str]:
    """The databases whose only open block is the one that Django keeps around this request."""
    match = getattr(request, "resolver_match", None)
    if match is None:  # called without Django's handler: every block is somebody else's
        return []
    exempt = getattr(match.func, "_non_atomic_requests", ())
    on = [alias for alias, options in connections.settings.items() if options["ATOMIC_REQUESTS"]]
    return [alias for alias in on if alias not in exempt and _is_alone(alias)]


def _is_alone(alias: str) -> bool:
    blocks = connections[alias].atomic_blocks
    return is_inside(alias) and (len(blocks) == 1 or getattr(blocks[-2], "_from_testcase", False))


def _begin_again(alias: str, block: Any) -> None:
    try:
        block.__enter__()
    except (OperationalError, InterfaceError):
        # The database is away, and the answer says so. Django's own exit must find what it finds
        # after every connection that was lost inside its block.
        connection = connections[alias]
        connection.in_atomic_block = connection.needs_rollback = True
        connection.closed_in_transaction = True
        connection.atomic_blocks.append(block)
