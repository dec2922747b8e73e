"""What beat sends, some worker has to know."""

import pytest
from django.conf import settings

from ledgerline.celery import app


def test_every_task_of_beat_is_known_to_a_worker() -> None:
    app.autodiscover_tasks(force=True)
    sent = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert sent <= set(app.tasks), f"beat sends what nobody knows: {sent - set(app.tasks)}"
    assert "idempotency.recover" in sent
    assert "bank.close_day" in app.tasks
    assert app.conf.beat_schedule["bank.close_day"]["schedule"].minute == {7}


@pytest.mark.parametrize(("name", "minute"), [("idempotency", 17), ("fulfilment", 37)])
def test_each_clean_up_runs_once_a_night_in_utc(name: str, minute: int) -> None:
    entry = app.conf.beat_schedule[f"{name}.retire"]
    assert (entry["schedule"].hour, entry["schedule"].minute) == ({3}, {minute})
    assert entry["task"] in app.tasks
    assert str(app.timezone) == "UTC", "it runs twice, or not at all, when the clocks change"
