"""The demo's own processes: provider, web server, worker and beat, each with its command line."""

import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from . import probes, starting
from .children import Child, Children, Program
from .errors import DemoError

ROOT = Path(__file__).resolve().parents[2]
PREFERRED_PORT = 8000


def listening_socket(port: int | None) -> socket.socket:
    """The web server's socket: 8000 or, if somebody has it, a free one; `port` is taken as it is.

    It stays open here and is handed down, so that no restart of the web server can lose the port.

    Raises:
        DemoError: the port that was asked for is taken.
    """
    if port is None:
        return _listen(PREFERRED_PORT) or listening_socket(0)
    listener = _listen(port)
    if listener is None:
        raise DemoError(
            f"Port {port} of 127.0.0.1 is taken by another program, or not allowed.",
            "Choose another with --port, or leave it out to get a free one.",
        )
    return listener


def start_provider(
    children: Children, folder: Path, books: Path, environment: Mapping[str, str]
) -> str:
    """Start the sandbox provider and wait until it answers; returns its URL."""

    def program_for(port: int) -> Program:
        module = "fulfilment.connectors.sandbox.provider"
        return _python(
            folder, "sandbox", environment, module, "--port", str(port), "--books", str(books)
        )

    def is_ready(_: Child, port: int) -> bool:
        return probes.answers(f"http://127.0.0.1:{port}/healthz")

    _, port = starting.on_free_port(children, program_for, is_ready)
    return f"http://127.0.0.1:{port}"


def start_service(
    children: Children, folder: Path, environment: Mapping[str, str], listener: socket.socket
) -> None:
    """Start web server, worker and beat, and wait until the first two answer.

    Raises:
        DemoError: one ended or did not get ready; the sentence quotes the end of its log.
    """
    port: int = listener.getsockname()[1]
    node = f"worker@ledgerline-{port}"
    web = children.spawn(_web(folder, environment, listener))
    worker = children.spawn(_worker(folder, environment, node))
    children.spawn(_beat(folder, environment))
    starting.wait_or_fail(web, lambda: probes.answers(f"http://127.0.0.1:{port}/healthz"))
    broker = environment["CELERY_BROKER_URL"]
    starting.wait_or_fail(worker, lambda: probes.worker_answers(node, broker_url=broker))


def _web(folder: Path, environment: Mapping[str, str], listener: socket.socket) -> Program:
    fd = listener.fileno()
    return _python(
        folder, "web", environment, "gunicorn", "ledgerline.wsgi:application",
        "--bind", f"fd://{fd}", "--worker-class", "gthread", "--workers", "2",
        "--threads", environment.get("WEB_THREADS", "4"),
        "--timeout", "20", "--graceful-timeout", "5", "--no-control-socket",
        # an `Idempotency_Key` beside `Idempotency-Key` is a mistake that its sender has to see: 400
        "--header-map", "refuse",
        "--access-logfile", "-", "--error-logfile", "-",
        keep_open=(fd,),
    )  # fmt: skip


def _worker(folder: Path, environment: Mapping[str, str], node: str) -> Program:
    return _python(
        folder, "worker", environment, "celery", "--app", "ledgerline", "worker",
        "--hostname", node, "--pool", "prefork", "--concurrency", "2", "--loglevel", "INFO",
        "--without-gossip", "--without-mingle",
    )  # fmt: skip


def _beat(folder: Path, environment: Mapping[str, str]) -> Program:
    return _python(
        folder, "beat", environment, "celery", "--app", "ledgerline", "beat",
        "--schedule", str(folder / "beat-schedule"), "--loglevel", "INFO",
    )  # fmt: skip


def _python(
    folder: Path,
    role: str,
    environment: Mapping[str, str],
    *module_and_arguments: str,
    keep_open: tuple[int, ...] = (),
) -> Program:
    return Program(
        role=role,
        command=(sys.executable, "-m", *module_and_arguments),
        cwd=ROOT,
        log=folder / f"{role}.log",
        env=environment,
        keep_open=keep_open,
        has_pool=role in ("web", "worker"),
    )


def _listen(port: int) -> socket.socket | None:
    """Bound and listening: two clones that both only bind would both believe they have the port."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except (OSError, OverflowError):
        listener.close()
        return None
    return listener
