"""What beat sends, some worker has to know."""

from django.conf import settings

from ledgerline.celery import app


def test_every_task_of_beat_is_known_to_a_worker() -> None:
    app.autodiscover_tasks(force=True)
    sent = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert sent <= set(app.tasks), f"beat sends what nobody knows: {sent - set(app.tasks)}"
    assert "idempotency.recover" in sent
