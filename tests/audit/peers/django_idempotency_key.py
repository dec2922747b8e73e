"""django-idempotency-key 1.3 with the strongest parts that its README offers.

Its storage in a shared cache, its lock in Redis, and the first answer's own status on a replay.
"""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path

from tests.audit.peers import common

REDIS_URL = os.environ["REDIS_URL"]

settings.configure(
    **common.SETTINGS,
    ROOT_URLCONF=__name__,
    MIDDLEWARE=["idempotency_key.middleware.IdempotencyKeyMiddleware"],
    CACHES={"default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": REDIS_URL}},
    IDEMPOTENCY_KEY={
        "CONFLICT_STATUS_CODE": None,
        "STORAGE": {"CLASS": "idempotency_key.storage.CacheKeyStorage", "CACHE_NAME": "default"},
        "LOCK": {
            "CLASS": "idempotency_key.locks.redis.MultiProcessRedisLock",
            "LOCATION": REDIS_URL,
            "TTL": 5,
            "TIMEOUT": 5,  # so that nobody is sent away by the lock in front of the storage
        },
    },
)


def pay(request: HttpRequest) -> JsonResponse:
    if request.method == "GET":
        return JsonResponse({"payments": []})
    try:
        paid = common.pay(owner=common.owner_of(request), body=request.body)
    except ValueError:
        return JsonResponse({"detail": "bad order"}, status=400)
    return JsonResponse(paid, status=201, headers={"Location": f"/payments/{paid['id']}"})


urlpatterns = [path("payments", pay)]
application = get_wsgi_application()
