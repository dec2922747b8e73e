"""Alive is the process, ready is its database; the cache is told and never decides."""

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client


def test_alive_asks_nobody(django_db_blocker) -> None:
    with django_db_blocker.block():
        assert Client().get("/healthz").json() == {"alive": True}


@pytest.mark.django_db
def test_ready_when_postgresql_answers() -> None:
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["database"]) == (200, True)


@pytest.mark.django_db
@pytest.mark.parametrize("error", [OperationalError("gone"), InterfaceError("closed")], ids=repr)
def test_not_ready_without_postgresql(monkeypatch, error: Exception) -> None:
    def refuse(*args, **kwargs):
        raise error

    monkeypatch.setattr(connection, "cursor", refuse)
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["ready"]) == (503, False)


@pytest.mark.django_db
def test_ready_without_the_cache(settings) -> None:
    dead = settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = {"default": dead}
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["cache"]) == (200, False)
