"""The web server's configuration: `gunicorn -c python:ledgerline.gunicorn ledgerline.wsgi`.

What the Idempotency-Key contract needs of a server stands here, so that nobody forgets it.
"""

import subprocess
import sys
from typing import Any

from gunicorn.glogging import Logger

from ledgerline import env
from ledgerline.logs import masked

WEB_TIMEOUT = env.seconds("WEB_TIMEOUT", 20).total_seconds()

worker_class = "gthread"
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


def on_starting(server: Any) -> None:
    """Refuse bad settings once, in a process of its own, before there is any worker.

    Each worker refuses them as well, but two that fail together end in a traceback of the server;
    and nothing of the service may be loaded before the workers are forked.
    """
    tried = subprocess.run([sys.executable, "-c", "import ledgerline.wsgi"], check=False)
    if tried.returncode:
        sys.exit(tried.returncode)


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
