"""One action, done once: what stands in its slot decides, and nothing else does."""

import logging
from uuid import UUID

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, connections, transaction

from idempotency import gate
from idempotency.gate import identity as identities
from idempotency.gate import slots
from idempotency.models import GatedAction
from tests.integration.gate.conftest import COMMITTING, World, refund, standing, write, written

pytestmark = COMMITTING

TWICE = "the action ran twice for one identity"


def test_a_second_call_gets_the_first_one_s_result(world: World) -> None:
    assert refund(world) == refund(world) == "paid r-1"
    assert world == {"r-1": 1}, TWICE


def test_another_target_is_not_blocked(world: World) -> None:
    refund(world, target="r-1")
    refund(world, target="r-2")
    assert world == {"r-1": 1, "r-2": 1}, "the slot does not depend on the target"


def test_another_action_on_the_target_is_not_blocked(world: World) -> None:
    refund(world)
    with gate.claim("refund.announce", target="r-1"):
        world.pay("announced")
    assert world["announced"] == 1, "the slot does not depend on the action"


def test_without_an_identity_it_runs_each_time_and_says_so(world: World, caplog) -> None:
    for _ in range(2):
        with gate.claim("cache.warm") as action:
            world.pay("warmed")
            assert not action.gated
    assert world == {"warmed": 2}, "an action without an identity was blocked"
    said = [record for record in caplog.records if getattr(record, "action", "") == "gate_ungated"]
    assert len(said) == 2, "an ungated run left no trace in the log"
    assert not standing()


def test_an_identity_that_is_missing_by_accident_is_refused(world: World) -> None:
    for nothing in (None, "", " ", True, 1.5, "a\0b", "\ud83d"):
        with pytest.raises(ValueError, match=r"action|surrogates"):
            refund(world, target=nothing)
    with pytest.raises(ValueError, match="not saved"):
        refund(world, key=None, target=GatedAction().pk)
    assert not world, "an unsaved object went through ungated"


def test_a_key_narrows_the_action_to_one_of_several(world: World) -> None:
    for line in ("line-1", "line-2", "line-1"):
        refund(world, target="invoice-7", key=line)
    assert world == {"invoice-7": 2}, "two keys share a slot, or one key has two"


def test_the_same_key_on_another_target_is_another_action(world: World) -> None:
    refund(world, target="invoice-7", key="line-1")
    refund(world, target="invoice-8", key="line-1")
    assert world == {"invoice-7": 1, "invoice-8": 1}


def test_a_namespace_is_part_of_the_identity_and_none_is_one_too(world: World) -> None:
    for tenant in (None, "north", "south", None, "north"):
        refund(world, namespace=tenant)
    assert world == {"r-1": 3}, "two NULL namespaces are two slots, or two tenants are one"


def test_an_id_may_be_text_a_number_or_a_uuid(world: World) -> None:
    name = UUID("00000000-0000-0000-0000-00000000ada0")
    for target in (7, "7", name, str(name)):
        refund(world, target=target)
    assert world == {"7": 1, str(name): 1}


def test_settle_keeps_the_slot_for_ever(world: World) -> None:
    refund(world)
    row = GatedAction.objects.get()
    assert (row.state, row.result, row.token) == ("settled", '"paid r-1"', None)
    for statement in ("DELETE FROM", "UPDATE"):
        change = "" if statement == "DELETE FROM" else " SET result = NULL"
        with (
            pytest.raises(Exception, match="settled action stays settled"),
            connection.cursor() as cursor,
        ):
            cursor.execute(f"{statement} idempotency_actions{change}")
    assert GatedAction.objects.get().result == '"paid r-1"'


def test_release_frees_the_slot(world: World) -> None:
    with gate.claim("refund.approve", target="r-1") as action:
        action.release()
    assert not standing(), "a released action still occupies its slot"
    assert refund(world) == "paid r-1"


def test_leaving_the_block_without_a_word_settles_it() -> None:
    with gate.claim("mail.send", target="m-1") as action:
        assert action.gated
        assert action.slot.startswith("claim_")
    assert standing() == [("mail.send", "settled")]
    with pytest.raises(gate.AlreadySettled) as earlier, gate.claim("mail.send", target="m-1"):
        pass
    assert earlier.value.result is None
    assert earlier.value.settled_at is not None


def test_a_digest_that_two_actions_share_makes_neither_the_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identities, "digest_of", lambda _: "0" * 64)
    assert refund(world, target="r-1") == "paid r-1"
    assert refund(world, target="r-2") == "paid r-2", "a collision was taken for a duplicate"
    assert refund(world, target="r-1") == "paid r-1"
    assert world == {"r-1": 1, "r-2": 1}
    assert len(set(GatedAction.objects.values_list("slot", flat=True))) == 1


def test_a_look_up_that_finds_nothing_costs_time_and_no_second_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    refund(world)
    read, calls = slots.read, []

    def blind_once(identity):
        calls.append(identity)
        return None if len(calls) == 1 else read(identity)

    monkeypatch.setattr(slots, "read", blind_once)
    assert refund(world) == "paid r-1"
    assert world == {"r-1": 1}, "the look-up in front is the gate, and the insert is not"


def test_an_identity_that_holds_the_id_of_an_attempt_defeats_the_gate(world: World) -> None:
    for attempt in ("attempt-1", "attempt-2"):
        refund(world, target=f"r-1/{attempt}")
    assert sum(world.values()) == 2, (
        "two attempts of one action were recognised as one although their identities differ: "
        "then something other than the identity decides"
    )


def test_it_fails_closed_when_the_log_is_missing(world: World) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE idempotency_actions RENAME TO mislaid")
    try:
        with pytest.raises(gate.Closed, match="not begun"):
            refund(world)
        with pytest.raises(gate.Closed, match="not begun"):
            refund(world, atomic=True)
        with pytest.raises(gate.Closed):
            gate.claim_many("usage", [gate.Item("e-1", {})])
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE mislaid RENAME TO idempotency_actions")
    assert not world, "the action ran although nobody could read whether it had run before"
    assert refund(world) == "paid r-1"


def test_it_fails_closed_when_the_log_does_not_answer_in_time(world: World) -> None:
    other = connections.create_connection("default")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("LOCK TABLE idempotency_actions")
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '100ms'")
        with pytest.raises(gate.Closed):
            refund(world)
        assert refund(world, on_outage="run") == "paid r-1"
    finally:
        other.rollback()
        other.close()
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
    assert world == {"r-1": 1}


def test_what_is_harmless_may_run_through_an_outage_visibly(world: World, caplog) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE idempotency_actions RENAME TO mislaid")
    try:
        with (
            caplog.at_level(logging.WARNING, "idempotency"),
            gate.claim("cache.warm", target="rates", on_outage="run") as action,
        ):
            assert not action.gated
            assert action.settle(world.pay("warmed")) == "paid warmed"
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE mislaid RENAME TO idempotency_actions")
    assert "gate_outage_ignored" in {getattr(record, "action", "") for record in caplog.records}


def test_a_leased_claim_inside_a_transaction_is_refused(world: World) -> None:
    with transaction.atomic(), pytest.raises(ImproperlyConfigured, match="atomic=True"):
        refund(world)
    assert not world


def test_combinations_that_promise_nothing_are_refused(world: World) -> None:
    with pytest.raises(ImproperlyConfigured, match="cannot run without it"):
        refund(world, atomic=True, on_outage="run")
    with pytest.raises(ImproperlyConfigured, match="'refuse' or 'run'"):
        refund(world, on_outage="hope")


def test_an_atomic_action_commits_with_its_claim_or_not_at_all() -> None:
    def close(month: str, *, fail: bool = False) -> None:
        with gate.claim("books.close", target=month, atomic=True) as action:
            write(month)
            if fail:
                raise RuntimeError("a bug")
            action.settle({"month": month})

    with pytest.raises(RuntimeError):
        close("2026-10", fail=True)
    assert not standing(), "an action that was rolled back occupies its slot"
    close("2026-10")
    with pytest.raises(gate.AlreadySettled):
        close("2026-10")
    assert written() == ["2026-10"], TWICE


def test_an_atomic_action_joins_the_caller_s_transaction() -> None:
    def undone() -> None:
        with transaction.atomic():
            with gate.claim("books.close", target="2026-11", atomic=True):
                write("2026-11")
            raise RuntimeError("the caller's transaction fails")

    with pytest.raises(RuntimeError):
        undone()
    assert (written(), standing()) == ([], [])


def test_inside_somebody_else_s_transaction_their_time_outs_stay() -> None:
    def bound() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            return cursor.fetchone()[0]

    before = bound()
    with transaction.atomic():
        with gate.claim("books.close", target="2026-11", atomic=True):
            assert bound() == before
        assert bound() == before
    with gate.claim("books.close", target="2026-12", atomic=True):
        assert bound() == "5min", "a statement of an atomic action may outlive its lease"
    assert bound() == before
