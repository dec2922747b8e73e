"""`claim_many`: one statement for a thousand items, and a word about each."""

from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from idempotency import gate
from idempotency.gate import Item, Verdict
from idempotency.models import GatedAction
from tests.integration.gate.conftest import COMMITTING

pytestmark = COMMITTING

R, D, C = Verdict.RECORDED, Verdict.DEDUPLICATED, Verdict.CONFLICT


def claimed(*items: tuple[str, Any], namespace: str | None = "ada") -> list[Verdict]:
    given = [Item(key, {"quantity": quantity}) for key, quantity in items]
    return [outcome.verdict for outcome in gate.claim_many("usage", given, namespace=namespace)]


def test_the_same_list_again_changes_nothing_and_says_so() -> None:
    assert claimed(("e-1", 1), ("e-2", 2)) == [R, R]
    before = list(GatedAction.objects.order_by("id").values())
    assert claimed(("e-2", 2), ("e-1", 1), ("e-3", 3)) == [D, D, R]
    assert list(GatedAction.objects.order_by("id").values())[:2] == before, "a row was restamped"


def test_other_values_under_the_same_id_are_a_conflict_that_names_them() -> None:
    first = {"quantity": 1, "type": "sms", "at": "2026-11-30T00:00:00Z"}
    gate.claim_many("usage", [Item("e-1", first)])
    [outcome] = gate.claim_many("usage", [Item("e-1", {**first, "quantity": 2, "more": None})])
    assert (outcome.verdict, outcome.differing) == (C, ("more", "quantity"))
    assert '"quantity": 1' in (GatedAction.objects.get().result or ""), "the first values are gone"


@pytest.mark.parametrize(("old", "new"), [(1, True), (1, 1.0), (1, "1"), (None, 0), ([1], [1, 1])])
def test_values_that_python_takes_for_equal_are_not(old: Any, new: Any) -> None:
    assert claimed(("e-1", old)) == [R]
    assert claimed(("e-1", new)) == [C]


def test_the_order_of_names_is_no_difference() -> None:
    gate.claim_many("usage", [Item("e-1", {"a": {"x": 1, "y": 2}, "b": 1})])
    [again] = gate.claim_many("usage", [Item("e-1", {"b": 1, "a": {"y": 2, "x": 1}})])
    assert again.verdict is D


def test_an_item_that_is_twice_in_the_list_is_recorded_once() -> None:
    assert claimed(("e-1", 1), ("e-1", 1), ("e-1", 2)) == [R, D, C]
    assert GatedAction.objects.count() == 1


def test_somebody_else_s_id_is_another_one() -> None:
    assert claimed(("e-1", 1), namespace="ada") == [R]
    assert claimed(("e-1", 2), namespace="bola") == [R]
    assert claimed(("e-1", 2), namespace=None) == [R]
    assert claimed(("e-1", 2), namespace=None) == [D], "without a namespace every item is new"


def test_a_thousand_items_are_one_statement_and_more_are_refused() -> None:
    items = [Item(f"e-{n}", {"quantity": n}) for n in range(1_000)]
    with CaptureQueriesContext(connection) as queries:
        outcomes = gate.claim_many("usage", items)
    inserts = [query for query in queries if "INSERT" in query["sql"]]
    assert len(inserts) == 1
    assert {outcome.verdict for outcome in outcomes} == {R}
    assert [outcome.key for outcome in outcomes] == [item.key for item in items]
    with pytest.raises(ValueError, match="At most 1,000"):
        gate.claim_many("usage", [*items, Item("one more", {})])


def test_it_joins_the_caller_s_transaction() -> None:
    def undone() -> None:
        with transaction.atomic():
            claimed(("e-1", 1))
            raise RuntimeError("what was to be done for the item did not fit")

    with pytest.raises(RuntimeError):
        undone()
    assert claimed(("e-1", 1)) == [R]


def test_no_items_are_no_outcomes() -> None:
    assert gate.claim_many("usage", []) == []


def test_an_item_without_a_usable_key_is_refused_before_anything_is_written() -> None:
    for key in ("", None, "x" * 501):
        with pytest.raises(ValueError, match=r"action|identity"):
            gate.claim_many("usage", [Item("fine", {}), Item(key, {})])  # type: ignore[arg-type]
    assert not GatedAction.objects.exists()


@pytest.mark.parametrize("values", [{"a": {1}}, {1: "a", "1": "b"}], ids=["a set", "keys"])
def test_values_that_are_no_json_are_refused_before_anything_is_written(values: Any) -> None:
    with pytest.raises(ValueError, match="no JSON"):
        gate.claim_many("usage", [Item("fine", {}), Item("odd", values)])
    assert not GatedAction.objects.exists()


def test_an_item_that_is_being_done_or_held_stops_the_list() -> None:
    with gate.claim("usage", key="e-1") as action:
        with pytest.raises(gate.InProgress):
            gate.claim_many("usage", [Item("e-2", {}), Item("e-1", {})])
        action.hold("nobody knows")
    with pytest.raises(gate.Held):
        gate.claim_many("usage", [Item("e-2", {}), Item("e-1", {})])
    assert GatedAction.objects.count() == 1, "half a list was recorded"


def test_slots_are_taken_in_one_order_so_that_lists_wait_in_no_circle() -> None:
    items = [Item(f"e-{n}", {}) for n in range(50)]
    gate.claim_many("usage", items)
    gate.claim_many("others", items[::-1])
    for action in ("usage", "others"):
        taken = list(
            GatedAction.objects.filter(action=action).order_by("id").values_list("slot", flat=True)
        )
        assert taken == sorted(taken), "two overlapping lists can deadlock: ORDER BY is missing"
