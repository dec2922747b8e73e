"""A throttle that turns everybody away while its cache is down is named at start."""

from typing import Any

import pytest
from django.http import HttpResponse
from rest_framework.throttling import BaseThrottle, UserRateThrottle
from rest_framework.views import APIView

from idempotency import idempotent
from idempotency.checks import check_throttles
from idempotency.throttling import FailOpen, UserRate
from tests.unit.idempotency.checks.urlconf import ids, routed


class Own(FailOpen, UserRateThrottle):
    """A project's own, as the hint says."""


class Closed(UserRateThrottle):
    """A project's own, as most are."""


class Rest(APIView):
    @idempotent()
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("throttles", "said"),
    [
        ([], []),
        ([UserRate, Own, BaseThrottle], []),
        ([UserRateThrottle], ["W017"]),
        ([UserRate, Closed], ["W017"]),
    ],
)
def test_a_throttle_that_fails_closed_is_named(
    settings: Any, throttles: list[Any], said: list[str]
) -> None:
    routed(settings, Rest.as_view(throttle_classes=throttles))
    assert ids(check_throttles) == said
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    assert ids(check_throttles) == [], "a cache in memory is never down"
