"""Is this process alive, and may it take traffic?"""

import logging

from django.core.cache import cache
from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

log = logging.getLogger(__name__)


@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers; asks nobody else."""
    return JsonResponse({"alive": True})


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """200 when PostgreSQL answers, else 503. The cache is reported, and never decides."""
    database = _database_answers()
    status = 200 if database else 503
    return JsonResponse(
        {"ready": database, "database": database, "cache": _cache_answers()}, status=status
    )


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, InterfaceError):  # closed under our hands is no answer either
        log.warning("database does not answer", extra={"action": "not_ready"})
        return False
    return True


def _cache_answers() -> bool:
    try:
        cache.get("readyz")
    except Exception:  # noqa: BLE001  # whatever a cache client raises, the answer is the same
        return False
    return True
