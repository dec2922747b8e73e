"""Several statements, one round trip: psycopg's pipeline around what Django sends.

    with batches.opening(using):     BEGIN · claim · SAVEPOINT
    with batches.closing(using):     RELEASE · settle · COMMIT

Inside a block nothing has a result yet: cursors are read after it. A statement that fails takes the
rest of its block with it, the COMMIT too, and the block raises what that statement raises on its
own. Where the driver knows no pipeline (psycopg 2, libpq before 14), and inside a transaction that
is not ours to begin and end, the same statements go one by one.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from django.db import connections
from django.db.backends.postgresql.psycopg_any import is_psycopg3


@contextmanager
def batch(using: str) -> Iterator[bool]:
    """Send what the block executes together, and wait for it once, at the block's end.

    The block gets whether that is so; if not, every statement has its result when it returns.
    """
    connection: Any = connections[using]
    connection.ensure_connection()
    together = _can_pipeline() and not _forgets_too_late(connection)
    with ExitStack() as stack:
        if together:
            stack.enter_context(connection.wrap_database_errors)
            stack.enter_context(connection.connection.pipeline())
        yield together


@contextmanager
def opening(using: str) -> Iterator[None]:
    """A batch that begins the transaction of the atomic block around it, if nothing has yet."""
    connection: Any = connections[using]
    connection.ensure_connection()
    with ExitStack() as stack:
        ours = _can_pipeline() and _is_idle(connection.connection)
        if ours:
            stack.enter_context(_beginning_by_hand(connection.connection))
        stack.enter_context(batch(using))
        if ours:
            connection.connection.execute(_begin(connection.connection))
        yield


@contextmanager
def closing(using: str, *, commit: bool = True) -> Iterator[None]:
    """A batch that ends with the COMMIT, or the ROLLBACK, of the atomic block around it.

    Django's own then finds nothing left to do, and the hooks of `on_commit` run after the batch, as
    they should: inside it they would not see their own results.
    """
    connection: Any = connections[using]
    with batch(using) as together:
        yield
        if together and _ends_here(connection) and not (commit and connection.needs_rollback):
            connection.connection.execute("COMMIT" if commit else "ROLLBACK")


def _can_pipeline() -> bool:
    if not is_psycopg3:
        return False
    from psycopg import Pipeline  # whoever uses psycopg 2 need not have it

    return Pipeline.is_supported()


def _forgets_too_late(connection: Any) -> bool:
    """Will something be rolled back, and are statements prepared (`prepare_threshold`)?

    psycopg drops all prepared statements when it sees a rollback. Behind a pipeline it sees that
    late, and drops the first statement that comes after it as well, which it believes to be there.
    """
    return bool(connection.needs_rollback and connection.connection.prepare_threshold is not None)


def _is_idle(raw: Any) -> bool:
    from psycopg.pq import TransactionStatus

    return bool(raw.info.transaction_status == TransactionStatus.IDLE)


@contextmanager
def _beginning_by_hand(raw: Any) -> Iterator[None]:
    """psycopg begins a transaction itself, but it waits for that BEGIN, also in a pipeline.

    Afterwards it must know again that it is not in autocommit: it declares cursors accordingly. Its
    public setter refuses that inside a transaction, where nothing else can be said.
    """
    raw.autocommit = True
    try:
        yield
    finally:
        raw._autocommit = False  # noqa: SLF001


def _begin(raw: Any) -> str:
    level = raw.isolation_level
    return "BEGIN" if level is None else f"BEGIN ISOLATION LEVEL {level.name.replace('_', ' ')}"


def _ends_here(connection: Any) -> bool:
    """Is the atomic block around us the outermost, and Django's own to end?"""
    return bool(
        connection.in_atomic_block and not connection.savepoint_ids and connection.commit_on_exit
    )
