"""Ctrl-C and its like as one exception, which never strikes between a start and its record."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """Ctrl-C, SIGTERM, or the terminal was closed. No error: `except Exception` must not stop it."""


class _Shield:
    depth = 0
    struck = False


def raise_stopped() -> None:
    """From now on the signals raise `Stopped`, once: a second Ctrl-C must not cut the clean-up."""
    for number in SIGNALS:
        signal.signal(number, _stop)


def ignore() -> None:
    """From now on the signals do nothing."""
    for number in SIGNALS:
        signal.signal(number, _pass)  # not SIG_IGN, which children would inherit


@contextmanager
def held() -> Iterator[None]:
    """`Stopped` waits until the end of this block: a process between start and record would be lost."""
    _Shield.depth += 1
    try:
        yield
    finally:
        _Shield.depth -= 1
        if _Shield.struck and not _Shield.depth:
            _Shield.struck = False
            raise Stopped


def _pass(number: int, frame: FrameType | None) -> None:
    """One that is on its way already ends here too."""


def _stop(number: int, frame: FrameType | None) -> None:
    ignore()
    if _Shield.depth:
        _Shield.struck = True
    else:
        raise Stopped
