"""Free TCP ports of the loopback interface."""

import socket

BUSY = "address already in use"


def free_port() -> int:
    """A port that was free a moment ago. Another program may take it first: retry on `BUSY`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_busy(text: str) -> bool:
    """Whether a server's log says that somebody else has the port."""
    return BUSY in text.lower()
