"""Is this process alive, may it take traffic, and is the machine behind it at work?"""

import logging
from typing import Any

from django.core.cache import cache
from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from fulfilment import health

log = logging.getLogger(__name__)


@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers; asks nobody else."""
    return JsonResponse({"alive": True})


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """200 when PostgreSQL answers, else 503. Cache and machine are reported, and never decide.

    A dead worker is no reason to turn customers away: their payments are on record, and go out once
    it is back. Whoever has to be woken up for it watches `machine`.
    """
    database = _database_answers()
    told = {
        "ready": database,
        "database": database,
        "cache": _cache_answers(),
        "machine": _machine() if database else {"healthy": False, "troubles": ["database"]},
    }
    return JsonResponse(told, status=200 if database else 503)


@require_safe
def machine(request: HttpRequest) -> HttpResponse:
    """200 while what dispatches and asks is at work, 503 once a limit of the settings is passed."""
    told = _machine()
    return JsonResponse(told, status=200 if told["healthy"] else 503)


def _machine() -> dict[str, Any]:
    """Names of limits only: how much there is and how old it is, is for `/metrics` and its token."""
    try:
        found = health.now()
    except (DatabaseError, InterfaceError):
        log.warning("health unknown", extra={"action": "health_unknown"})
        return {"healthy": False, "troubles": ["database"]}
    return {"healthy": found.healthy, "troubles": [each.name for each in found.troubles]}


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
