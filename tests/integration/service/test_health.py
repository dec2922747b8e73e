"""Alive is the process, ready is its database; the cache is told and never decides."""

import re
from datetime import timedelta

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from fulfilment import rounds, store
from fulfilment.models import Pulse


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


@pytest.mark.django_db
def test_the_probes_say_whether_the_machine_is_at_work_and_traffic_goes_on_without_it() -> None:
    """Turning customers away because a worker is dead would make an outage of a delay."""
    silent = Client().get("/readyz")
    assert silent.status_code == 200
    assert silent.json()["machine"]["healthy"] is False
    assert "since_sweep" in silent.json()["machine"]["troubles"]
    assert Client().get("/readyz/machine").status_code == 503
    rounds.whole_round()
    assert Client().get("/readyz").json()["machine"] == {"healthy": True, "troubles": []}
    assert Client().get("/readyz/machine").status_code == 200


@pytest.mark.django_db
def test_the_limits_are_settings(settings) -> None:
    rounds.whole_round()
    Pulse.objects.filter(name="sweep").update(at=store.now() - timedelta(seconds=30))
    assert Client().get("/readyz/machine").status_code == 200
    settings.FULFILMENT = settings.FULFILMENT | {
        "HEALTH": {"since_sweep": timedelta(seconds=20)},
    }
    answer = Client().get("/readyz/machine")
    assert (answer.status_code, answer.json()["troubles"]) == (503, ["since_sweep"])


@pytest.mark.django_db
def test_strangers_are_told_names_and_no_figures() -> None:
    told = Client().get("/readyz").content.decode()
    assert not re.search(r"[0-9]", told), f"how busy the bank is, is nobody's business: {told}"


@pytest.mark.django_db
def test_without_an_answer_of_the_database_the_machine_is_not_healthy(monkeypatch) -> None:
    monkeypatch.setattr(connection, "cursor", _refuse)
    answer = Client().get("/readyz/machine")
    assert (answer.status_code, answer.json()["troubles"]) == (503, ["database"])


def _refuse(*args, **kwargs):
    raise OperationalError("gone")
