"""How a leased action ends: what provably did not happen is free again, what nobody knows is held."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from idempotency import ClaimLost, NothingHappened, gate
from idempotency.gate import slots
from idempotency.models import GatedAction
from tests.integration.gate.conftest import (
    COMMITTING,
    World,
    refund,
    run_out,
    standing,
    write,
    written,
)

pytestmark = COMMITTING

HELD = [("refund.approve", "held")]


def pays_then(error: BaseException, world: World) -> None:
    """An action that has its effect and dies before anybody could be told."""
    with gate.claim("refund.approve", target="r-1"):
        world.pay("r-1")
        raise error


def test_proof_that_nothing_happened_frees_the_slot(world: World) -> None:
    with pytest.raises(NothingHappened), gate.claim("refund.approve", target="r-1"):
        raise NothingHappened("refused before anything was sent")
    assert not standing(), "an action that did not happen blocks its retry for ever"
    assert refund(world) == "paid r-1"


@pytest.mark.parametrize("error", [RuntimeError("?"), TimeoutError(), KeyboardInterrupt()])
def test_any_other_exception_holds_it_and_nobody_runs_it_again(
    world: World, error: BaseException
) -> None:
    with pytest.raises(type(error)):
        pays_then(error, world)
    assert standing() == HELD, "an unknown outcome was released, or left as if it were running"
    with pytest.raises(gate.Held, match="A person has to find out") as held:
        refund(world)
    assert type(error).__name__ in held.value.reason
    assert world == {"r-1": 1}, "an action whose outcome nobody knows was run again"


def test_it_can_be_held_by_word(world: World) -> None:
    with gate.claim("refund.approve", target="r-1") as action:
        action.hold("the provider did not answer")
    with pytest.raises(gate.Held) as held:
        refund(world)
    assert held.value.reason == "the provider did not answer"
    assert held.value.since == GatedAction.objects.get().held_at


def test_a_second_caller_is_told_when_to_come_again(world: World) -> None:
    with (
        gate.claim("refund.approve", target="r-1"),
        pytest.raises(gate.InProgress, match="right now") as running,
    ):
        refund(world)
    assert 1 <= running.value.retry_after <= 5
    assert not world


def test_a_settled_action_stays_settled_whatever_comes_after(world: World) -> None:
    def settles_and_fails() -> None:
        with gate.claim("refund.approve", target="r-1") as action:
            action.settle(world.pay("r-1"))
            raise RuntimeError("a bug after the action")

    with pytest.raises(RuntimeError):
        settles_and_fails()
    assert refund(world) == "paid r-1"
    assert world == {"r-1": 1}


def test_settling_commits_with_the_last_writes() -> None:
    def writes_that_fail() -> None:
        with gate.claim("refund.approve", target="r-1") as action, transaction.atomic():
            write("r-1")
            action.settle("done")
            raise RuntimeError("the last writes do not fit")

    with pytest.raises(RuntimeError):
        writes_that_fail()
    assert written() == []
    assert standing() == HELD, "settled without the writes that it was to commit with"


def test_a_claim_that_outlived_its_lease_is_held_and_never_run_again(world: World, caplog) -> None:
    def finishes_late() -> None:
        with gate.claim("refund.approve", target="r-1") as action:
            run_out()
            with pytest.raises(gate.Held, match="Nobody knows"):
                refund(world)  # also before the sweep has come
            assert gate.hold_expired() == 1
            with transaction.atomic():
                write("late")
                action.settle("late")

    with pytest.raises(ClaimLost):
        finishes_late()
    assert "gate_expired" in {getattr(record, "action", "") for record in caplog.records}
    assert written() == [], "a late finisher committed under a claim that was taken from it"
    assert standing() == HELD
    assert gate.hold_expired() == 0
    with pytest.raises(gate.Held):
        refund(world)
    assert not world


def test_a_claim_within_its_lease_is_left_alone() -> None:
    with gate.claim("refund.approve", target="r-1", lease=timedelta(seconds=30)):
        assert gate.hold_expired() == 0
    assert standing() == [("refund.approve", "settled")]


def test_a_late_finisher_cannot_settle_its_successor(world: World) -> None:
    def finishes_late() -> None:
        with gate.claim("refund.approve", target="r-1") as late:
            run_out()
            gate.hold_expired()
            held = GatedAction.objects.get()
            slots.release_held(held.pk, held_at=held.held_at)
            with gate.claim("refund.approve", target="r-1") as successor:
                with pytest.raises(ClaimLost):
                    late.settle("late")
                successor.settle(world.pay("r-1"))
            late.settle("late")

    with pytest.raises(ClaimLost):
        finishes_late()
    assert standing() == [("refund.approve", "settled")]
    assert refund(world) == "paid r-1", "the result is the late finisher's"


@pytest.mark.parametrize(
    "result",
    [None, True, 0, 1.5, "", "NUL \0 and half \ud83d", [1, [2]], {"b": 1, "a": {"z": None}}],
)
def test_a_result_comes_back_as_it_was(result: Any) -> None:
    with gate.claim("refund.approve", target="r-1") as action:
        assert action.settle(result) == result
    with pytest.raises(gate.AlreadySettled) as earlier, gate.claim("refund.approve", target="r-1"):
        pass
    assert earlier.value.result == result
    assert repr(earlier.value.result) == repr(result), "the order or the kind of a value changed"
    assert not earlier.value.omitted


def test_the_first_caller_gets_what_later_ones_get() -> None:
    name = UUID("00000000-0000-0000-0000-00000000ada0")
    given = {"id": name, "at": datetime(2026, 11, 30, tzinfo=UTC), "sum": Decimal("1.10"), 1: (2,)}
    with gate.claim("refund.approve", target="r-1") as action:
        first = action.settle(given)
    with pytest.raises(gate.AlreadySettled) as earlier, gate.claim("refund.approve", target="r-1"):
        pass
    assert first == earlier.value.result
    assert first == {"id": str(name), "at": "2026-11-30T00:00:00Z", "sum": "1.10", "1": [2]}


@pytest.mark.parametrize("result", [object(), "x" * 2_000_000], ids=["no JSON", "too large"])
def test_a_result_that_cannot_be_kept_repeats_nothing(result: object, caplog) -> None:
    with gate.claim("refund.approve", target="r-1") as action:
        assert action.settle(result) is result
    with pytest.raises(gate.AlreadySettled) as earlier, gate.claim("refund.approve", target="r-1"):
        pass
    assert (earlier.value.omitted, earlier.value.result) == (True, None)
    assert "gate_result_omitted" in {getattr(record, "action", "") for record in caplog.records}


def test_no_row_ever_says_error() -> None:
    with connection.cursor() as cursor, pytest.raises(Exception, match="columns_of_state"):
        cursor.execute(
            "INSERT INTO idempotency_actions (slot, action, target, key, state, claimed_at)"
            " VALUES ('claim_' || repeat('0', 24), 'a', 't', '', 'error', now())"
        )


def test_what_stands_in_the_way_is_an_answer_that_says_what_to_do(world: World) -> None:
    refund(world)
    with pytest.raises(gate.NotClaimed) as said, gate.claim("refund.approve", target="r-1"):
        pass
    answer = said.value.answer()
    assert (answer.status, dict(answer.headers)["Content-Type"]) == (
        409,
        "application/problem+json",
    )
    assert b'"code": "action_settled"' in answer.body
    assert b'"detail": ' in answer.body, "a 409 that does not say what to do next"
