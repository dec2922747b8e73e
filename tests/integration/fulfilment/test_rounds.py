"""What happens without a message, and what a message may do at most."""

import io
import logging
import socket
import time
from datetime import timedelta

import pytest
from celery import current_app
from django.core.management import call_command

from fulfilment import tasks
from fulfilment.checks import settings_hold
from fulfilment.conf import conf
from tests.integration.fulfilment.support import due, held, now, start

pytestmark = pytest.mark.django_db


def test_one_round_sweeps_asks_and_dispatches_without_a_broker(provider) -> None:
    waiting, lost = start(), start()
    held(lost, sent=True)
    provider.books[lost.reference] = lost.amount
    out = io.StringIO()
    call_command("run_sweeps", "--once", stdout=out)
    assert out.getvalue() == "swept 1, asked about 0, fetched 0, applied 0, dispatched 1\n"
    assert now(waiting).state == "fulfilled"
    due(lost)
    call_command("run_sweeps", "--once", stdout=out)
    assert now(lost).state == "fulfilled"


def test_the_tasks_do_the_rounds(provider, monkeypatch) -> None:
    heard: list[int] = []
    monkeypatch.setattr(tasks, "hint", heard.append)
    row, lost = start(), start()
    held(lost, sent=True)
    provider.books[lost.reference] = lost.amount
    tasks.poll()
    assert heard == [row.pk]
    tasks.dispatch(row.pk)
    tasks.sweep()
    due(lost)
    tasks.look_up()
    assert {now(row).state, now(lost).state} == {"fulfilled"}


def test_no_task_is_ever_retried_by_celery() -> None:
    for task in (tasks.dispatch, tasks.poll, tasks.sweep, tasks.look_up):
        assert task.max_retries == 0, f"{task.name} could call a provider a second time, blindly"
        assert not hasattr(task, "autoretry_for") or not task.autoretry_for
        assert task.ignore_result


@pytest.fixture
def deaf_broker(monkeypatch):
    """A broker that takes connections and never answers."""
    monkeypatch.setattr(tasks, "_quiet_until", 0.0)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        url = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        connect = current_app.connection_for_write
        monkeypatch.setattr(current_app, "connection_for_write", lambda **kw: connect(url, **kw))
        yield


def test_a_broker_that_does_not_answer_costs_a_second_at_most_and_then_nothing(
    deaf_broker, caplog
) -> None:
    began = time.monotonic()
    with caplog.at_level(logging.WARNING):
        tasks.hint(1)
    assert time.monotonic() - began < 2, "an answer that is committed waited for a dead broker"
    assert [r.action for r in caplog.records] == ["hint_lost"]
    began = time.monotonic()
    for pk in range(100):
        tasks.hint(pk)
    assert time.monotonic() - began < 0.2, "every payment paid for the dead broker again"


@pytest.mark.parametrize(
    ("changed", "check"),
    [
        ({"LEASE": timedelta(seconds=15)}, "fulfilment.E002"),
        ({"LEAZE": 1}, "fulfilment.E001"),
        ({"SCHEDULE": ()}, "fulfilment.E003"),
        ({"LOOKUPS_PER_SECOND": 0}, "fulfilment.E021"),
        ({"BREAKER_AFTER": 0}, "fulfilment.E022"),
        ({"BREAKER_OPEN": timedelta(0)}, "fulfilment.E022"),
        ({"SCHEDULE": (timedelta(0),)}, "fulfilment.E003"),
        ({"HINT": "nowhere.at.all"}, "fulfilment.E004"),
        ({"CONNECTORS": {"x": {"CLASS": "nowhere.Connector"}}}, "fulfilment.E005"),
        ({"CONNECTORS": {"x": {}}}, "fulfilment.E005"),
    ],
    ids=str,
)
def test_settings_under_which_it_could_happen_twice_are_refused(settings, changed, check) -> None:
    settings.FULFILMENT = settings.FULFILMENT | changed
    assert [error.id for error in settings_hold(None)] == [check]


def test_the_defaults_hold(settings) -> None:
    assert settings_hold(None) == []
    settings.FULFILMENT = {}
    assert settings_hold(None) == []
    assert conf().lease > conf().total_deadline + conf().margin
