"""What happened, counted from the signals; nothing else here knows that anybody counts."""

from typing import Any

from prometheus_client import Counter, Histogram

from idempotency import signals
from idempotency.metrics.labels import Bounded

REQUESTS = Counter(
    "idempotency_requests",
    "Guarded requests by how they ended (see idempotency.signals) and whether they sent a key.",
    ["operation", "outcome", "status", "keyed"],
)
SECONDS = Histogram(
    "idempotency_request_seconds",
    "How long guard and handler of a request took.",
    ["operation"],
    # An on-us transfer takes milliseconds, a call of another system seconds, a time-out half a minute.
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
KEY_ABSENT = Counter(
    "idempotency_key_absent",
    "Requests without a key by client, and whether they were refused for it.",
    ["operation", "client", "refused"],
)
CACHE = Counter(
    "idempotency_cache",
    "Questions to a cache: hit and miss of answers; unreadable, skipped (left alone) and error of all.",
    ["cache", "outcome"],
)

_clients = Bounded(50)  # a bank has a handful of apps, in a few versions each


def connect() -> None:
    """Count from now on; a second call changes nothing."""
    signals.request_ended.connect(_ended, dispatch_uid="idempotency.metrics")
    signals.key_absent.connect(_absent, dispatch_uid="idempotency.metrics")
    signals.cache_asked.connect(_asked, dispatch_uid="idempotency.metrics")


def _ended(
    *, sender: str, outcome: str, status: int, seconds: float, keyed: bool, **_: Any
) -> None:
    REQUESTS.labels(sender, outcome, str(status), _word(keyed)).inc()
    SECONDS.labels(sender).observe(seconds)


def _absent(*, sender: str, client: str, refused: bool, **_: Any) -> None:
    KEY_ABSENT.labels(sender, _clients(client), _word(refused)).inc()


def _asked(*, sender: str, outcome: str, **_: Any) -> None:
    CACHE.labels(sender, outcome).inc()


def _word(flag: bool) -> str:  # noqa: FBT001  a label's value
    return "true" if flag else "false"
