"""The checks that see a gate with a hole in it."""

from typing import Any

import pytest
from django.db import connection

from idempotency import gated
from idempotency.checks import check_gates, check_slots
from idempotency.gate import declarations
from tests.integration.gate.conftest import COMMITTING

pytestmark = COMMITTING


@pytest.fixture(autouse=True)
def only_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declarations, "_declared", {})


@pytest.mark.parametrize(
    "named",
    ["request_id", "order.attempt_id", "self.request.id", "options.task_id", "trace_id", "uuid4"],
)
def test_a_name_that_changes_with_every_try_is_warned_of(named: str) -> None:
    @gated("refund.approve", target=named)
    def approve(**options: Any) -> None: ...

    [found] = check_gates()
    assert found.id == "idempotency.W003"
    assert named in found.msg
    assert "run the action again" in (found.hint or "")


@pytest.mark.parametrize(
    "named",
    [
        lambda self: self.request.id,
        lambda refund, attempt_id: f"{refund}:{attempt_id}",
        lambda refund: refund.last_attempt_id,
    ],
)
def test_a_function_that_reads_such_a_name_is_warned_of(named: Any) -> None:
    @gated("refund.approve", target="refund", key=named)
    def approve(refund: Any, **_: Any) -> None: ...

    [found] = check_gates()
    assert (found.id, "key of the action" in found.msg) == ("idempotency.W003", True)


@pytest.mark.parametrize(
    "named", ["order_id", "order.pk", "options.day", "requested_id", "paid_for", "month"]
)
def test_the_name_of_what_it_is_done_to_is_fine(named: str) -> None:
    @gated("refund.approve", target=named, key=lambda modeladmin, request, queryset: queryset)
    def approve(**options: Any) -> None: ...

    assert check_gates() == []


def test_the_constraint_is_looked_for_in_the_live_database_only_when_asked() -> None:
    assert check_slots(databases=["default"]) == []
    drop = "ALTER TABLE idempotency_actions DROP CONSTRAINT idempotency_actions_slot_taken"
    columns = "slot, action, target, key, namespace"
    add = "ALTER TABLE idempotency_actions ADD CONSTRAINT idempotency_actions_slot_taken UNIQUE"
    try:
        for broken in (drop, f"{add} ({columns})"):
            with connection.cursor() as cursor:
                cursor.execute(broken)
            [found] = check_slots(databases=["default"])
            assert found.id == "idempotency.W004"
            assert "two callers at once would both run" in found.msg
        assert check_slots(databases=None) == []
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"{drop}")
            cursor.execute(f"{add} NULLS NOT DISTINCT ({columns})")
    assert check_slots(databases=["default"]) == []
