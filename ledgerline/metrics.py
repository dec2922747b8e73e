"""GET /metrics: everything that this service counts, for Prometheus.

Not for everybody: ages and rates tell a stranger how busy the bank is and what it has trouble with.
"""

import os

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector

from fulfilment.health.metrics import StandingCollector as FulfilmentCollector
from idempotency.errors import Unauthenticated
from idempotency.metrics import StandingCollector
from idempotency.responses import http_response

# What is asked at each scrape. An app that joins the service brings its collector here; its counters
# are in the client library's registry as soon as they are made.
COLLECTORS = (StandingCollector(), FulfilmentCollector())


@require_safe
def metrics(request: HttpRequest) -> HttpResponseBase:
    """The figures of all web processes. 404 unless METRICS_TOKEN is set; it is the bearer token."""
    token = settings.METRICS_TOKEN
    if not token:
        raise Http404
    if not constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {token}"):
        return http_response(Unauthenticated().answer())
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(registry()), content_type=content_type)


def registry() -> CollectorRegistry:
    """The counters, added up over all processes where there are several, and every collector."""
    found = CollectorRegistry()
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:  # as the client library asks
        MultiProcessCollector(found)  # type: ignore[no-untyped-call]
    else:
        found.register(REGISTRY)
    for collector in COLLECTORS:
        found.register(collector)
    return found
