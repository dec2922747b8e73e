"""What a partial index's condition says, and whether constraints hold together for NULL."""

import pytest

from idempotency.nulls import predicates
from idempotency.nulls.rules import Condition, Form, Unique, form_of


def condition(*, null: str = "", not_null: str = "", rest: tuple[str, ...] = ()) -> Condition:
    return Condition(frozenset(null.split()), frozenset(not_null.split()), frozenset(rest))


@pytest.mark.parametrize(
    ("predicate", "said"),
    [
        (None, condition()),
        ("(b IS NULL)", condition(null="b")),
        ("((b IS NOT NULL) AND (c IS NULL))", condition(null="c", not_null="b")),
        ('("toBank" IS NULL)', condition(null="toBank")),
        ("(n = 1)", condition(not_null="n", rest=("n = 1",))),
        (
            "((kind)::text = 'a AND (b IS NULL)'::text)",
            condition(not_null="kind", rest=("(kind)::text = 'a AND (b IS NULL)'::text",)),
        ),
        ("(NOT gone)", condition(not_null="gone", rest=("NOT gone",))),
        ("((b IS NULL) OR (c = 1))", condition(rest=("(b IS NULL) OR (c = 1)",))),
        ("(COALESCE(b, 0) = 0)", condition(rest=("COALESCE(b, 0) = 0",))),
    ],
)
def test_a_condition_is_read_as_postgresql_writes_it(predicate: str, said: Condition) -> None:
    assert predicates.read(predicate) == said


def unique(*columns: str, nullable: str = "n m", **more: object) -> Unique:
    may = frozenset(nullable.split())
    return Unique("t", "u", columns, may & set(columns), may, ("t.u",), **more)  # type: ignore[arg-type]


WHOLE = unique("a", "n")
WITHOUT = unique("a", condition=condition(null="n"))
WITHIN = unique("a", "n", condition=condition(not_null="n"))
BOTH = unique("a", "n", "m")
NO_N = unique("a", "m", condition=condition(null="n", not_null="m"))
NO_M = unique("a", "n", condition=condition(null="m", not_null="n"))
NEITHER = unique("a", condition=condition(null="n m"))
ACTIVE = unique("a", condition=condition(null="n", rest=("active",)))


@pytest.mark.parametrize(
    ("judged", "beside", "form"),
    [
        (unique("a", "b"), [], Form.NO_NULL),
        (WHOLE, [], Form.OPEN),
        (unique("n"), [], Form.OPEN),
        (unique("a", "n", nulls_distinct=False), [], Form.NOT_DISTINCT),
        (WHOLE, [unique("a", "n", nulls_distinct=False)], Form.PAIR),
        (WHOLE, [WITHOUT], Form.PAIR),
        (WITHIN, [WITHOUT], Form.PAIR),
        (WITHIN, [], Form.LEFT_OUT),
        (unique("a", "n", condition=condition(null="n")), [], Form.OPEN),
        (WHOLE, [unique("a")], Form.PAIR),
        (WHOLE, [unique("b", condition=condition(null="n"))], Form.OPEN),
        (WHOLE, [ACTIVE], Form.OPEN),
        (unique("a", "n", condition=condition(rest=("active",))), [ACTIVE], Form.PAIR),
        (BOTH, [NO_N, NO_M], Form.OPEN),
        (BOTH, [NO_N, NO_M, NEITHER], Form.PAIR),
        (BOTH, [NEITHER], Form.OPEN),
    ],
)
def test_constraints_hold_for_null_alone_or_together(
    judged: Unique, beside: list[Unique], form: Form
) -> None:
    assert form_of(judged, beside=[judged, *beside]) is form
