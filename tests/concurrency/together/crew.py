"""Processes that live through many rounds and begin each at the same moment.

Each has its own connections. An order says what to do and at which moment of the machine's steady
clock; the answer says whether it was done, refused with a sentence, or broke.
"""

import json
import random
import socket
import time
from contextlib import ExitStack
from typing import Any, TextIO

from tests.concurrency.killed.stage import Stage

HEAD_START = 0.004  # seconds until all of them have read their orders
SPREAD = 0.006  # seconds over which they begin: about as long as each of their transactions


class Crew:
    """So many processes; in a `with`, they end with it."""

    def __init__(self, stage: Stage, *, size: int, seed: int) -> None:
        self._chance = random.Random(seed)  # the interleaving, to be had again
        self._stack = ExitStack()
        listener = self._stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = listener.getsockname()[1]
        self._members = [self._hired(stage, listener, port) for _ in range(size)]

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def at_once(self, *orders: tuple[str, Any]) -> list[tuple[str, Any]]:
        """One order for each: what, and with which names. (done | told | broke, what) of each."""
        begin = time.monotonic() + HEAD_START
        for member, (work, subject) in zip(self._members, orders, strict=True):
            at = begin + self._chance.uniform(0, SPREAD)
            member.write(json.dumps({"work": work, "subject": subject, "at": at}) + "\n")
            member.flush()
        return [tuple(json.loads(member.readline())) for member in self._members]

    def _hired(self, stage: Stage, listener: socket.socket, port: int) -> TextIO:
        pid = stage.hired("together.member.serve", port)
        self._stack.callback(stage.dismissed, pid)
        conversation, _ = listener.accept()
        self._stack.enter_context(conversation)
        member = conversation.makefile("rw")
        self._stack.enter_context(member)
        self._stack.callback(conversation.shutdown, socket.SHUT_RDWR)
        return member
