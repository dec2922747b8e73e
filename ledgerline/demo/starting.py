"""Start a server on a free port and wait until it is ready."""

import time
from collections.abc import Callable
from functools import partial

from .children import Child, Children, Program
from .errors import DemoError
from .ports import free_port, is_busy

TRIES = 10  # two clones that start at once may draw the same port; ten draws in a row do not
READY_WITHIN = 60.0  # seconds; a slow disk makes the first start of PostgreSQL take about 10


def on_free_port(
    children: Children,
    program_for: Callable[[int], Program],
    is_ready: Callable[[Child, int], bool],
) -> tuple[Program, int]:
    """Start the program on a port of its own; returns it with the port, ready.

    Raises:
        DemoError: it ended or did not get ready; the sentence quotes the end of its log.
    """
    for _ in range(TRIES):
        port = free_port()
        child = children.spawn(program_for(port))
        if _becomes_ready(child, partial(is_ready, child, port)):
            return child.program, port
        said = child.said()
        children.end(child.program.role)
        if not is_busy(said):
            raise _did_not_start(child, said)
    raise DemoError(
        f"No free port was left for {child.program.role} in {TRIES} tries.",
        "Another program takes the loopback ports as fast as they are freed; try again.",
    )


def wait_or_fail(child: Child, is_ready: Callable[[], bool]) -> None:
    """Wait until the child is ready.

    Raises:
        DemoError: it ended or did not get ready; the sentence quotes the end of its log.
    """
    if not _becomes_ready(child, is_ready):
        raise _did_not_start(child, child.said())


def last_lines(text: str, *, count: int = 8) -> str:
    """The end of a log, indented, for a message to a person."""
    return "\n".join(f"    {line[:300]}" for line in text.strip().splitlines()[-count:])


def _becomes_ready(child: Child, is_ready: Callable[[], bool]) -> bool:
    """True when ready; False when the child ended or took longer than `READY_WITHIN`."""
    give_up_at = time.monotonic() + READY_WITHIN
    while time.monotonic() < give_up_at:
        if child.process.poll() is not None:
            return False
        if is_ready():
            return True
        time.sleep(0.05)
    return False


def _did_not_start(child: Child, said: str) -> DemoError:
    program = child.program
    return DemoError(
        f"{program.role} did not start; the end of {program.log} says:\n{last_lines(said)}\n",
        "Put right what it names; if that is its data, delete the folder and start again.",
    )
