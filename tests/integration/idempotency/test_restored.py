"""After a restored backup nothing is believed that the lost days led to."""

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import caches
from django.core.management import CommandError, call_command
from django.db import connection

from idempotency import redis_client, restored, sweeps
from tests.integration.idempotency.conftest import ADA, COMMITTING
from tests.integration.idempotency.old_keys import keys, open_ones

pytestmark = COMMITTING


@pytest.fixture(autouse=True)
def _with_tokens(settings: Any) -> None:
    settings.IDEMPOTENCY = {"CACHE": "default", "TOKENS": "default"}


def sent() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT key FROM idempotency_keys WHERE sent_at IS NOT NULL ORDER BY key")
        return [row[0] for row in cursor.fetchall()]


def test_a_request_in_progress_is_asked_about_before_it_runs_again() -> None:
    open_ones(age=timedelta(days=1), user=ADA)
    assert sent() == ["held", "marked"]
    said = io.StringIO()
    call_command("idempotency_after_restore", yes=True, stdout=said)
    assert "that may have called somebody: 1\n" in said.getvalue()
    assert sent() == ["held", "leased", "marked"]
    sweeps.release_abandoned()
    assert "leased" in keys(), (
        "forgotten as if it had never called: its retry would call without a question"
    )


def test_it_is_safe_twice() -> None:
    open_ones(age=timedelta(days=1), user=ADA)
    restored.recover()
    assert [step.said.rsplit(": ", 1)[1] for step in restored.recover()] == ["0", "0", "0"]


def test_answers_and_tokens_go_and_everything_else_stays() -> None:
    cache = caches["default"]
    cache.clear()
    for name in ("idem:1:ada:k", "idem:1:ada:[k]*", "token:1:abc", "throttle:ada", "xidem:1"):
        cache.set(name, "kept")
    said = [step.said for step in restored.recover()]
    assert said[:2] == ["Cached answers forgotten: 2", "Single-use tokens voided: 1"]
    left = {name.decode().split(":", 2)[2] for name in redis_client.client("default").keys("*")}
    assert left == {"throttle:ada", "xidem:1"}
    cache.clear()


def test_a_prefix_is_no_pattern(settings: Any) -> None:
    settings.CACHES = {"default": settings.CACHES["default"] | {"KEY_PREFIX": "[ab]*?\\"}}
    caches["default"].set("idem:1", "ours")
    other = redis_client.client("default")
    other.set("a-something:1:idem:1", "somebody else's")
    assert redis_client.forget("default", "idem:") == 1
    assert other.delete("a-something:1:idem:1") == 1, "a neighbour's key was deleted"


def test_a_cache_that_is_no_redis_is_emptied(settings: Any) -> None:
    memory = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "restored"}
    settings.CACHES = {"default": memory}
    settings.IDEMPOTENCY = {"CACHE": "default"}
    caches["default"].set("idem:1", "kept")
    assert not any(step.failed for step in restored.recover())
    assert caches["default"].get("idem:1") is None


def test_without_anybody_to_say_yes_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    open_ones(age=timedelta(days=1), user=ADA)

    def nobody(_: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", nobody)
    with pytest.raises(CommandError, match="Nothing was changed"):
        call_command("idempotency_after_restore")
    assert sent() == ["held", "marked"]
