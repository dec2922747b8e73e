"""Two callers of one action at the same moment: one runs it, one is blocked, and the constraint decides."""

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from idempotency import gate
from idempotency.gate import slots
from idempotency.models import GatedAction
from idempotency.uniqueness import unique_with_null

pytestmark = pytest.mark.django_db(transaction=True, available_apps=["idempotency"])

TABLE = "idempotency_actions"
TWO_WON = "two ran: the unique constraint on idempotency_actions is missing or lets NULLs differ"
NONE_WON = "none ran: `idempotency` is not in INSTALLED_APPS, or its table is not migrated"


@pytest.fixture
def insert_alone_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have looked and found the slot free before either inserts; no lock spares them that."""
    barrier, claim = threading.Barrier(2), slots.claim

    def at_once(*args: Any, **kwargs: Any) -> bool:
        barrier.wait(10)
        return claim(*args, **kwargs, advisory=False)

    monkeypatch.setattr(slots, "claim", at_once)


def invoke(both_known: threading.Barrier, *, schema: str, **said: Any) -> str:
    """One caller; whoever runs the action goes on running it until the other knows, too."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('search_path', %s, false)", [schema])
        with gate.claim("charge", target="order-1", **said):
            both_known.wait(10)
            return "ran"
    except gate.NotClaimed as blocked:
        both_known.wait(10)
        return type(blocked).__name__
    except gate.Closed:
        return "closed"
    finally:
        connection.close()


def invoke_twice_at_once(*, schema: str = "public", **said: Any) -> Counter[str]:
    both_known = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(invoke, both_known, schema=schema, **said) for _ in range(2)]
        return Counter(call.result(30) for call in calls)


def one_ran_and_one_was_blocked(outcomes: Counter[str]) -> None:
    """The oracle: names the cause of every way in which it can fail."""
    assert outcomes["ran"] < 2, TWO_WON
    assert outcomes["ran"] == 1, NONE_WON
    assert outcomes["InProgress"] == 1, f"the other was not told that it runs: {outcomes}"


@contextmanager
def scratch(*, alter: str = "", constraints: Any = ()) -> Iterator[str]:
    """A schema of its own with a copy of the table, changed; empty without `alter`."""
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA IF EXISTS scratch CASCADE")
        cursor.execute("CREATE SCHEMA scratch")
        if alter:
            cursor.execute(f"CREATE TABLE scratch.{TABLE} (LIKE public.{TABLE} INCLUDING ALL)")
            cursor.execute(f"ALTER TABLE scratch.{TABLE} {alter}")
        cursor.execute("SET search_path TO scratch")
    try:
        with connection.schema_editor() as editor:
            for constraint in constraints:
                editor.add_constraint(GatedAction, constraint)
        yield "scratch"
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET search_path")
            cursor.execute("DROP SCHEMA scratch CASCADE")


WITHOUT = "DROP CONSTRAINT idempotency_actions_slot_action_target_key_namespace_key"  # PostgreSQL's own name


def declared(*, portable: bool) -> list[Any]:
    return unique_with_null(
        fields=["slot", "action", "target", "key"],
        nullable="namespace",
        name="scratch_slot",
        portable=portable,
    )


@pytest.mark.parametrize("namespace", [None, "north"])
def test_one_of_two_simultaneous_calls_runs(insert_alone_decides: None, namespace: str) -> None:
    one_ran_and_one_was_blocked(invoke_twice_at_once(namespace=namespace))


def test_one_of_two_simultaneous_calls_runs_with_all_early_outs() -> None:
    one_ran_and_one_was_blocked(invoke_twice_at_once())


def test_one_of_two_simultaneous_atomic_calls_runs_and_nobody_waits() -> None:
    one_ran_and_one_was_blocked(invoke_twice_at_once(atomic=True))


@pytest.mark.parametrize("namespace", [None, "north"])
@pytest.mark.parametrize("portable", [False, True], ids=["nulls not distinct", "pair of indexes"])
def test_both_forms_of_the_constraint_let_one_in(
    insert_alone_decides: None, portable: bool, namespace: str | None
) -> None:
    with scratch(alter=WITHOUT, constraints=declared(portable=portable)) as schema:
        outcomes = invoke_twice_at_once(schema=schema, namespace=namespace)
    one_ran_and_one_was_blocked(outcomes)


def test_the_oracle_names_a_missing_constraint(insert_alone_decides: None) -> None:
    with scratch(alter=WITHOUT) as schema:
        outcomes = invoke_twice_at_once(schema=schema)
    with pytest.raises(AssertionError, match="two ran: the unique constraint"):
        one_ran_and_one_was_blocked(outcomes)


def test_the_oracle_names_a_constraint_that_lets_nulls_differ(insert_alone_decides: None) -> None:
    plain = "ADD CONSTRAINT plain UNIQUE (slot, action, target, key, namespace)"
    with scratch(alter=f"{WITHOUT}, {plain}") as schema:
        outcomes = invoke_twice_at_once(schema=schema, namespace=None)
    with pytest.raises(AssertionError, match="lets NULLs differ"):
        one_ran_and_one_was_blocked(outcomes)


def test_the_oracle_names_a_missing_table() -> None:
    with scratch() as schema:
        outcomes = invoke_twice_at_once(schema=schema)
    with pytest.raises(AssertionError, match="none ran: `idempotency` is not in INSTALLED_APPS"):
        one_ran_and_one_was_blocked(outcomes)


def test_two_atomic_calls_wait_for_nobody_but_the_constraint(insert_alone_decides: None) -> None:
    """Without the advisory lock the second waits for the first one's commit, and finds its result."""
    arrived, outcomes = threading.Barrier(2), []

    def call() -> None:
        try:
            arrived.wait(10)
            with gate.claim("close", target="2026-11", atomic=True) as action:
                outcomes.append(action.settle("ran"))
        except gate.AlreadySettled as earlier:
            outcomes.append(f"told: {earlier.result}")
        finally:
            connection.close()

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(outcomes) == ["ran", "told: ran"], TWO_WON


def test_overlapping_lists_record_each_item_once_and_wait_in_no_circle() -> None:
    items = [gate.Item(f"e-{n}", {"quantity": n}) for n in range(200)]
    start, verdicts = threading.Barrier(4), []

    def send(mine: list[gate.Item]) -> None:
        try:
            start.wait(10)
            verdicts.extend(gate.claim_many("usage", mine))
        finally:
            connection.close()

    lists = [items, items[::-1], items[50:] + items[:50], items[:100]]
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(send, mine) for mine in lists]:
            done.result(30)
    recorded = Counter(o.key for o in verdicts if o.verdict is gate.Verdict.RECORDED)
    assert set(recorded.values()) == {1}, "an item of two lists was recorded twice"
    assert len(recorded) == GatedAction.objects.count() == 200
    assert len(verdicts) == 700
    assert {o.verdict for o in verdicts} == {gate.Verdict.RECORDED, gate.Verdict.DEDUPLICATED}


WORKER = """
import django, os
django.setup()
from idempotency import gate
with gate.claim("charge", target="order-1", atomic=os.environ["FORM"] == "atomic"):
    print("ran", flush=True)
"""


def killed(point: str, *, form: str) -> str:
    """A real process that dies at `point`; what it had done by then."""
    database = connection.settings_dict
    place = f"{database['HOST']}:{database['PORT']}/{database['NAME']}"
    environment = os.environ | {
        "DATABASE_URL": f"postgresql://{database['USER']}:{database['PASSWORD']}@{place}",
        "IDEMPOTENCY_KILL_AT": point,
        "FORM": form,
    }
    command = [sys.executable, "-c", WORKER]
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, timeout=60, check=False
    )
    assert done.returncode == -9, f"nobody died at {point}"
    return done.stdout


@pytest.mark.processes
@pytest.mark.parametrize(("point", "effect"), [("gate.claimed", ""), ("gate.settling", "ran\n")])
def test_a_process_that_is_killed_leaves_a_claim_that_a_person_gets(
    point: str, effect: str
) -> None:
    assert killed(point, form="leased") == effect
    with pytest.raises(gate.InProgress), gate.claim("charge", target="order-1"):
        pytest.fail("a dead process' action was run again while its lease lasts")
    GatedAction.objects.update(locked_until=GatedAction.objects.get().claimed_at)
    assert gate.hold_expired() == 1
    with pytest.raises(gate.Held), gate.claim("charge", target="order-1"):
        pytest.fail("an action whose outcome nobody knows was run again")


@pytest.mark.processes
def test_a_process_that_is_killed_in_an_atomic_action_leaves_nothing() -> None:
    assert killed("gate.settling", form="atomic") == "ran\n"
    with gate.claim("charge", target="order-1", lease=timedelta(seconds=5)) as action:
        assert action.gated, "the slot of an action that was rolled back is taken"
