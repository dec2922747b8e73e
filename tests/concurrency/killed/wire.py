"""Between a worker and all that it talks to: numbers what is said, and strikes at one number.

A statement, a commit, a request, an answer, a connection: whatever leaves or reaches the worker
passes here, so what is numbered was recorded and not listed by hand.
"""

import os
import re
import select
import signal
import socket
import threading
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass

READY = b"Z\x00\x00\x00\x05"  # PostgreSQL's ReadyForQuery, before its one byte of state
STATEMENTS = (b"Q", b"P", b"B")  # how its messages begin that are answered until it is ready


@dataclass(slots=True, kw_only=True)
class Said:
    """One thing that the worker said or heard, in however many pieces."""

    to: str  # database, provider, cache
    by_worker: bool
    words: bytes = b""  # none: a connection

    def is_like(self, other: "Said") -> bool:
        """The same step of another run: the words are about another row."""
        return (self.to, self.by_worker) == (other.to, other.by_worker)

    def __str__(self) -> str:
        if not self.words:
            return f"connecting to the {self.to}"
        readable = re.search(rb"[A-Z][ -~]{4,100}", self.words)
        words = readable[0].decode() if readable else f"{len(self.words)} bytes"
        return f"“{words}”" if self.by_worker else f"the {self.to}'s answer {words!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """When the worker gets the signal: as it says, or would hear, the thing of this number."""

    number: int
    half: bool = False  # of it is still passed on
    signal: int = signal.SIGKILL


class Wire:
    """Listens once for each target, and passes on until the strike.

    What the worker said then was never said; what it was told then has happened, and the worker
    does not know. Stopped instead of killed, it hears or has said it once it is `resumed`.
    """

    def __init__(self, strike: Strike | None = None, **targets: tuple[str, int]) -> None:
        self.heard: list[Said] = []
        self.victim: Future[int] = Future()
        self.struck, self.resumed = threading.Event(), threading.Event()
        self._strike = strike
        self._listeners = {name: socket.create_server(("127.0.0.1", 0)) for name in targets}
        self.ports = {name: own.getsockname()[1] for name, own in self._listeners.items()}
        for name, target in targets.items():
            threading.Thread(target=self._accept, args=(name, target), daemon=True).start()

    def close(self) -> None:
        """Nobody else is let in; what is open ends with its ends."""
        for listener in self._listeners.values():
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def _accept(self, name: str, target: tuple[str, int]) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listeners[name].accept()
                self.heard.append(Said(to=name, by_worker=True))
                if not self._met() or self._carry_out():
                    far = socket.create_connection(target)
                    passing = threading.Thread(
                        target=self._pass_on, args=(name, near, far), daemon=True
                    )
                    passing.start()
                else:
                    near.close()

    def _pass_on(self, name: str, near: socket.socket, far: socket.socket) -> None:
        """Both ways, until one end closes or the strike is carried out."""
        speaker = None
        with near, far, suppress(OSError):
            while ready := select.select([near, far], [], [])[0]:
                piece = ready[0].recv(65536)
                if not piece:
                    return
                begun, speaker = ready[0] is not speaker, ready[0]
                self._note(name, piece, begun=begun, by_worker=speaker is near)
                listener = far if speaker is near else near
                if begun and self._met():
                    piece = self._interrupted(piece, speaker, listener)
                    if not piece:
                        return
                listener.sendall(piece)

    def _note(self, name: str, piece: bytes, *, begun: bool, by_worker: bool) -> None:
        """What is said without an answer in between is one thing."""
        if begun:
            self.heard.append(Said(to=name, by_worker=by_worker))
        self.heard[-1].words += piece

    def _interrupted(self, piece: bytes, speaker: socket.socket, listener: socket.socket) -> bytes:
        """What is left to pass on: nothing, to the dead."""
        assert self._strike
        while self._answers_a_statement() and piece[-6:-1] != READY:
            piece += speaker.recv(65536)  # all that it is told has happened
        if self._strike.half:
            listener.sendall(piece[: len(piece) // 2])
        return piece if self._carry_out() else b""

    def _answers_a_statement(self) -> bool:
        asked, said = self.heard[-2:]
        return said.to == "database" and not said.by_worker and asked.words[:1] in STATEMENTS

    def _met(self) -> bool:
        return self._strike is not None and len(self.heard) == self._strike.number

    def _carry_out(self) -> bool:
        """True: it was only stopped, and goes on now."""
        assert self._strike
        os.kill(self.victim.result(timeout=20), self._strike.signal)
        self.struck.set()
        return self._strike.signal == signal.SIGSTOP and self.resumed.wait(timeout=60)
