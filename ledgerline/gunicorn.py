"""The web server's configuration: `gunicorn -c python:ledgerline.gunicorn ledgerline.wsgi`.

What the Idempotency-Key contract needs of a server stands here, so that nobody forgets it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from gunicorn.glogging import Logger

from ledgerline import env
from ledgerline.logs import masked

WEB_TIMEOUT = env.seconds("WEB_TIMEOUT", 20).total_seconds()

worker_class = "ledgerline.web.Worker"  # gthread, but for what it says to a bad header
workers = env.integer("WEB_WORKERS", 2)
threads = env.integer("WEB_THREADS", 4)
timeout = round(WEB_TIMEOUT)
graceful_timeout = 5
# An `Idempotency_Key` beside `Idempotency-Key` is a mistake that its sender has to see: 400.
# Dropped in silence, a request would pass with a key that its sender did not mean.
header_map = "refuse"
control_socket_disable = True  # several servers of one account would share its path
accesslog = "-"
errorlog = "-"

_counters: str | None = None  # a folder that was made for this start


def on_starting(server: Any) -> None:
    """Refuse bad settings once, in a process of its own, before there is any worker.

    Each worker refuses them as well, but two that fail together end in a traceback of the server;
    and nothing of the service may be loaded before the workers are forked.
    """
    tried = subprocess.run([sys.executable, "-c", "import ledgerline.wsgi"], check=False)
    if tried.returncode:
        sys.exit(tried.returncode)
    _share_counters()


def _share_counters() -> None:
    """Give the workers a folder in which whoever is scraped finds the counters of all of them.

    PROMETHEUS_MULTIPROC_DIR names one that is kept; else it is made, and removed at the end. Figures
    of an earlier start are none of this one's: a process id comes back.
    """
    global _counters
    given = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if not given:
        _counters = tempfile.mkdtemp(prefix="ledgerline-metrics-")
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = _counters
        return
    Path(given).mkdir(parents=True, exist_ok=True)
    for old in Path(given).glob("*.db"):
        old.unlink()


def child_exit(server: Any, worker: Any) -> None:
    """A worker has died: what it counted stays counted, what it had open does not."""
    from prometheus_client import multiprocess  # not before the folder is known

    multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:
    """Remove what was made for this start."""
    if _counters is not None:
        shutil.rmtree(_counters, ignore_errors=True)


def pre_request(worker: Any, request: Any) -> None:
    """Bound the wait for each piece of a body: sixteen silent clients must not hold all threads."""
    request.unreader.sock.settimeout(WEB_TIMEOUT)


class MaskingLogger(Logger):  # type: ignore[misc]  # gunicorn publishes no types
    """The access log without account numbers, which stand in some paths."""

    def atoms(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        atoms: dict[str, Any] = super().atoms(*args, **kwargs)
        shown = ("r", "U", "q", "f")  # request line, path, query, referrer
        return atoms | {name: masked(str(atoms[name])) for name in shown if name in atoms}


logger_class = MaskingLogger
