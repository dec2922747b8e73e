"""Runs the provider: `python -m fulfilment.connectors.sandbox.provider --port N --books FILE`."""

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

from fulfilment.connectors.sandbox.provider.books import Books, BooksUnusable
from fulfilment.connectors.sandbox.provider.desk import Desk
from fulfilment.connectors.sandbox.provider.server import Server

_ENDS = {signal.SIGTERM, signal.SIGINT}


def main(arguments: list[str] | None = None) -> int:
    """Serves until SIGTERM or SIGINT; 0 after a clean end, 1 with a sentence on stderr."""
    options = _options().parse_args(arguments)
    # Blocked before any thread starts, so that only `sigwait` below receives them.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        desk = Desk(Books(options.books), delay=options.delay)
        server = Server(desk, port=options.port, secret=options.secret)
    except BooksUnusable as error:
        return _fail(str(error))
    except OSError as error:
        reason = error.strerror or error
        return _fail(f"port {options.port} cannot be used ({reason}); choose another with --port")
    _serve(server)
    desk.close()
    return 0


def _serve(server: Server) -> None:
    threading.Thread(target=server.serve_forever, name="accept", daemon=True).start()
    print(f"sandbox provider listening on {server.url}", flush=True)  # noqa: T201  # the ready line
    signal.sigwait(_ENDS)
    server.socket.close()  # no `shutdown`, which may take half a second: the thread dies with us


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sandbox provider", description=__doc__)
    parser.add_argument(
        "--port", type=_port, required=True, help="on 127.0.0.1; 0 takes a free one"
    )
    parser.add_argument("--books", type=Path, required=True, help="file the payments are kept in")
    parser.add_argument(
        "--secret",
        default=os.environ.get("SANDBOX_SECRET", "sandbox-secret"),
        help="what callers must present (default: the environment's SANDBOX_SECRET)",
    )
    parser.add_argument("--delay", type=_seconds, default=0.0, help="seconds before each answer")
    return parser


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError
    return port


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= 3600:
        raise ValueError
    return seconds


def _fail(sentence: str) -> int:
    print(f"sandbox provider: {sentence}.", file=sys.stderr)  # noqa: T201  # for who started it
    return 1


if __name__ == "__main__":
    sys.exit(main())
