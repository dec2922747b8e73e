"""An outside world with books of its own, and the gate's table as it is."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from idempotency import gate
from idempotency.models import GatedAction

# Real commits; only this app's tables are flushed after a test, which is quicker by far.
COMMITTING = pytest.mark.django_db(transaction=True, available_apps=["idempotency"])


class World(Counter[str]):
    """What really happened out there: the oracle, whatever the gate has recorded."""

    def pay(self, what: str) -> str:
        self[what] += 1
        return f"paid {what}"


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(autouse=True)
def _a_table_of_ours(transactional_db: None) -> Iterator[None]:
    """Somewhere for an action to write, beside the gate's own table."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS gate_effects (what text NOT NULL)")
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE gate_effects")


def write(what: str) -> None:
    """An effect in the database, in the action's transaction."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO gate_effects VALUES (%s)", [what])


def written() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT what FROM gate_effects ORDER BY what")
        return [what for (what,) in cursor.fetchall()]


def standing() -> list[tuple[str, str]]:
    """(action, state) of every row."""
    return list(GatedAction.objects.order_by("id").values_list("action", "state"))


def refund(world: World, *, target: Any = "r-1", **said: Any) -> Any:
    """An action as it should be; what it came to, whoever did it."""
    try:
        with gate.claim("refund.approve", target=target, **said) as action:
            return action.settle(world.pay(f"{target}"))
    except gate.AlreadySettled as earlier:
        return earlier.result


def run_out() -> None:
    """The lease of every claim is over."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE idempotency_actions SET locked_until = clock_timestamp() - interval '1 second'"
            " WHERE state = 'claimed'"
        )
