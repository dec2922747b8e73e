"""What only the running servers can say, asked when they are named to `manage.py check`."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.checks import Tags, run_checks
from django.db import connection

from idempotency.checks import check_cache_policy, check_isolation
from tests.integration.idempotency.conftest import COMMITTING
from tests.integration.idempotency.own_valkey import Server, own_valkey
from tests.unit.idempotency.checks.urlconf import ids

pytestmark = [COMMITTING, pytest.mark.processes]


@pytest.fixture
def repeatable_read() -> Iterator[None]:
    """Somebody has set it for the database, where no settings file shows it."""
    name = connection.settings_dict["NAME"]
    level = "default_transaction_isolation"
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE \"{name}\" SET {level} TO 'repeatable read'")
    connection.close()
    yield
    with connection.cursor() as cursor:
        cursor.execute(f'ALTER DATABASE "{name}" RESET {level}')
    connection.close()


def test_an_isolation_level_that_the_database_sets_is_refused(repeatable_read: None) -> None:
    assert ids(check_isolation, databases=["default"]) == ["E006"]
    assert ids(check_isolation) == [], "it connected without being asked to"


def test_read_committed_is_what_is_needed() -> None:
    assert ids(check_isolation, databases=["default"]) == []


def test_with_the_database_named_nothing_is_wrong_here() -> None:
    found = run_checks(tags=[Tags.database], databases=["default"])
    assert not [m for m in found if m.id in {"idempotency.E006", "idempotency.W004"}], found


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with own_valkey() as server:
        yield server


def test_a_cache_that_refuses_writes_when_full_is_named(settings: Any, running: Server) -> None:
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": running.url}}
    running.heal()
    assert ids(check_cache_policy) == [], "without a limit of memory it is never full"
    running.boss.config_set("maxmemory-policy", "noeviction")
    running.boss.config_set("maxmemory", "100mb")
    assert ids(check_cache_policy) == ["W016"]
    running.boss.config_set("maxmemory-policy", "allkeys-lru")
    assert ids(check_cache_policy) == []
    running.kill()
    assert ids(check_cache_policy) == [], "an image could not be built without its cache"
    settings.IDEMPOTENCY = {"CACHE": None}
    assert ids(check_cache_policy) == []
