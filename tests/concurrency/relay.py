"""Between a process and PostgreSQL: kills the process at the n-th thing that either says."""

import os
import select
import signal
import socket
import threading
from concurrent.futures import Future
from contextlib import suppress

READY = b"Z\x00\x00\x00\x05"  # ReadyForQuery, before its one byte of state


class Relay:
    """Passes on what it hears, up to `at`: that is not passed on any more, and its process is dead.

    From the client it was not said then; from the server it happened, and nobody heard of it.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.arm(None)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def arm(self, at: int | None) -> None:
        """For the next process: its id is told to `victim` as soon as it is known."""
        self.at = at
        self.heard: list[bytes] = []
        self.victim: Future[int] = Future()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                threading.Thread(target=self._pass_on, args=(near, far), daemon=True).start()

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        """Both ways, until one end closes or something fatal was said."""
        speaker = None
        with near, far, suppress(OSError):
            while ready := select.select([near, far], [], [])[0]:
                said = ready[0].recv(65536)
                if not said:
                    return
                self._note(said, more=ready[0] is speaker)
                speaker = ready[0]
                if self.at is not None and len(self.heard) >= self.at:
                    self._end(speaker, said, is_server=speaker is far)
                    return
                (far if speaker is near else near).sendall(said)

    def _note(self, said: bytes, *, more: bool) -> None:
        """What one of them says without an answer in between is one thing, in however many pieces."""
        if more:
            self.heard[-1] += said
        else:
            self.heard.append(said)

    def _end(self, speaker: socket.socket, said: bytes, *, is_server: bool) -> None:
        while is_server and said and said[-6:-1] != READY:  # all that it was told has happened
            said = speaker.recv(65536)
        os.kill(self.victim.result(timeout=20), signal.SIGKILL)
