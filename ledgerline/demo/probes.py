"""Is it ready? One question each, answered within a second or two, never an exception."""

import urllib.request

from ledgerline.celery import app

# The machine's proxy settings must not come between two processes of one machine.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def answers(url: str) -> bool:
    """Whether the URL answers with a success."""
    try:
        with _DIRECT.open(url, timeout=2) as answer:
            return bool(answer.status < 300)
    except OSError:  # includes HTTP errors and time-outs
        return False


def worker_answers(node: str, *, broker_url: str) -> bool:
    """Whether the Celery worker of this name answers a ping sent through the broker."""
    app.conf.update(broker_url=broker_url)  # this process read its settings before the broker ran
    try:
        return bool(app.control.ping(destination=[node], timeout=1.0))
    except Exception:  # noqa: BLE001  # whatever the broker's client raises: not yet
        return False
