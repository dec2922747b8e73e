"""Between a process and PostgreSQL: kills the process at the n-th thing that either of them says."""

import os
import select
import signal
import socket
import threading
from concurrent.futures import Future
from contextlib import suppress


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
        with near, far, suppress(OSError):
            while ready := select.select([near, far], [], [])[0]:
                source = ready[0]
                said = source.recv(65536)
                if not said:
                    return
                if self._is_fatal(said):
                    os.kill(self.victim.result(timeout=20), signal.SIGKILL)
                    return
                (far if source is near else near).sendall(said)

    def _is_fatal(self, said: bytes) -> bool:
        self.heard.append(said)
        return self.at is not None and len(self.heard) >= self.at
