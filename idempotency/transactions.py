"""Whose transaction is it, and was it the database that ended it?"""

from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, InternalError, OperationalError, connections

_IDLE_TOO_LONG = "25P03"  # the server ended the transaction of a process that had stopped


def refuse_outer(using: str) -> None:
    """Raises ImproperlyConfigured inside somebody else's transaction.

    What the contract commits must be committed before the answer is sent, and by nobody else.
    """
    if is_inside(using):
        raise ImproperlyConfigured(
            "An idempotent view owns its transactions, but it was called inside another one. "
            f"Set ATOMIC_REQUESTS to False for the database {using!r}, and do not wrap the view "
            "in transaction.atomic()."
        )


def is_inside(using: str) -> bool:
    """True inside a transaction; the one that Django's TestCase keeps around a test does not count."""
    blocks = connections[using].atomic_blocks
    return bool(blocks) and not getattr(blocks[-1], "_from_testcase", False)


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
