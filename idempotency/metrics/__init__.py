"""Metrics for Prometheus, with its own client library (the extra `metrics`).

    from idempotency import metrics                      # in AppConfig.ready()
    metrics.connect()                                    # counters, in the client's default registry

    registry.register(metrics.StandingCollector())       # where the scrape is answered

No label ever holds a key, an account, a user or a path: operations, outcomes and clients only, and
of clients a bounded number. With several processes set PROMETHEUS_MULTIPROC_DIR before they start;
the collector asks the database and needs nothing of that.
"""

from idempotency.metrics.collector import StandingCollector
from idempotency.metrics.counters import connect
from idempotency.metrics.labels import OTHER, Bounded

__all__ = ["OTHER", "Bounded", "StandingCollector", "connect"]
