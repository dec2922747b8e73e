"""The periodic jobs find a round of their kind at work; without a lock they change nothing either."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import ledgerline.tasks
from fulfilment import rounds, tasks
from idempotency import gate, locks, retention, sweeps

LOOPS: list[tuple[str, Callable[[], None], Any, str]] = [
    ("fulfilment.poll", tasks.poll, rounds, "dispatch_round"),
    ("fulfilment.sweep", tasks.sweep, rounds, "sweep_round"),
    ("fulfilment.apply_due", tasks.apply_due, rounds, "apply_round"),
    ("idempotency.recover", ledgerline.tasks.recover, sweeps, "recover_due"),
    ("idempotency.retire", ledgerline.tasks.retire, retention, "retire"),
]


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the rounds that were made."""
    made: list[str] = []
    for name, _, module, work in LOOPS:
        monkeypatch.setattr(module, work, lambda *_, name=name, **__: made.append(name))
    monkeypatch.setattr(rounds, "heard_beat", lambda: None)
    monkeypatch.setattr(sweeps, "release_abandoned", lambda: 0)
    monkeypatch.setattr(gate, "hold_expired", lambda: 0)
    return made


@pytest.mark.parametrize(("name", "task"), [loop[:2] for loop in LOOPS])
def test_a_tick_during_a_round_of_its_kind_leaves_it_alone(
    worked: list[str], name: str, task: Callable[[], None]
) -> None:
    with locks.held(name, ttl=timedelta(seconds=30)) as other:
        assert other.owned
        task()
        assert worked == [], "two beats do the same work at once"
    task()
    task()
    assert worked == [name, name], "a round kept its lock"


@pytest.mark.parametrize(("name", "task"), [loop[:2] for loop in LOOPS])
def test_without_redis_every_tick_works(
    worked: list[str], name: str, task: Callable[[], None], settings: Any
) -> None:
    nowhere = settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = {"default": nowhere}
    task()
    assert worked == [name], "rows decide, and nobody looked at them because a lock was not there"
