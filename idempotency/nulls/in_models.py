"""The unique constraints that the installed models declare."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.apps import apps
from django.db.models import F, Model, Q, UniqueConstraint, Value
from django.db.models.functions import Coalesce

from idempotency.nulls.rules import Condition, Unique


def uniques() -> list[Unique]:
    """Of every model that Django makes a table for, in every installed app."""
    models = apps.get_models(include_auto_created=True)
    return [unique for model in models if _has_table(model) for unique in of_model(model)]


def of_model(model: type[Model]) -> Iterator[Unique]:
    """Of one model: unique fields, `unique_together`, unique constraints; its own, not its parents'."""
    options, columns = _options(model), _columns(model)
    for field in options.local_concrete_fields:
        if field.unique and not field.primary_key and field.column in columns.values():
            yield _declared(model, name=field.name, columns=[field.column])
    for names in options.unique_together:
        together = [columns[name] for name in names if name in columns]
        yield _declared(model, name="_".join(names), columns=together)
    for constraint in options.constraints:
        if isinstance(constraint, UniqueConstraint):
            yield _constrained(model, constraint)


def _has_table(model: type[Model]) -> bool:
    options = _options(model)
    return bool(options.managed and not options.proxy and not options.swapped)


def _options(model: type[Model]) -> Any:
    return model._meta  # noqa: SLF001  Django's documented way in (Model._meta API)


def _columns(model: type[Model]) -> Mapping[str, str]:
    """Names of fields to names of columns; a foreign key may be named with and without `_id`."""
    named: dict[str, str] = {}
    for field in _options(model).local_concrete_fields:
        if field.column is not None:  # a composite primary key has none
            named |= {field.attname: field.column, field.name: field.column}
    return named


def _nullable(model: type[Model]) -> frozenset[str]:
    return frozenset(
        field.column
        for field in _options(model).local_concrete_fields
        if field.null and field.column
    )


def _declared(model: type[Model], *, name: str, columns: list[str], **more: Any) -> Unique:
    options, nullable = _options(model), _nullable(model)
    return Unique(
        table=options.db_table,
        name=name,
        columns=tuple(columns),
        nullable=frozenset(columns) & nullable | more.pop("may_be_null", frozenset()),
        table_nullable=nullable,
        labels=(f"{options.label}.{name}", f"{options.db_table}.{name}"),
        **more,
    )


def _constrained(model: type[Model], constraint: UniqueConstraint) -> Unique:
    columns = _columns(model)
    texts = [columns.get(name, name) for name in constraint.fields]
    expressions = [_inside(expression) for expression in constraint.expressions]
    plain = {id(e): columns.get(_name(e), _name(e)) for e in expressions if isinstance(e, F)}
    may_be_null = frozenset(
        str(e) for e in expressions if id(e) not in plain and _may_be_null(e, model)
    )
    return _declared(
        model,
        name=constraint.name,
        columns=texts + [plain.get(id(e), str(e)) for e in expressions],
        may_be_null=may_be_null,
        condition=condition_of(constraint.condition, columns=columns),
        nulls_distinct=constraint.nulls_distinct is not False,
    )


def _inside(expression: Any) -> Any:
    """The expression itself, without what only says how it is sorted."""
    while type(expression).__name__ in {"OrderBy", "IndexExpression", "OpClass"}:
        expression = expression.get_source_expressions()[0]
    return expression


def _name(reference: Any) -> str:
    return str(reference.name)


def _may_be_null(expression: Any, model: type[Model]) -> bool:
    if isinstance(expression, F):
        return _columns(model).get(_name(expression), "") in _nullable(model)
    if isinstance(expression, Value):
        return expression.value is None
    parts = expression.get_source_expressions()
    if isinstance(expression, Coalesce):
        return all(_may_be_null(part, model) for part in parts)
    return any(_may_be_null(part, model) for part in parts if part is not None)


def condition_of(condition: Any, *, columns: Mapping[str, str]) -> Condition:
    """What a Q asks for. What is not plain AND of plain look-ups stays text."""
    null: set[str] = set()
    not_null: set[str] = set()
    rest: set[str] = set()
    for name, kind, value, negated in _leaves(condition):
        wants_null = (kind == "isnull" and value is True) or (kind == "exact" and value is None)
        column = columns.get(name)
        if column is None or (negated and not wants_null and kind != "isnull"):
            rest.add(f"{'not ' if negated else ''}{name} {kind} {value!r}")
        elif wants_null or kind == "isnull":
            (null if wants_null is not negated else not_null).add(column)
        else:
            rest.add(f"{name} {kind} {value!r}")
            not_null.add(column)
    return Condition(frozenset(null), frozenset(not_null), frozenset(rest))


def _leaves(condition: Any) -> Iterator[tuple[str, str, Any, bool]]:
    """(field, look-up, value, negated) of each part; a part that is more than that has no field."""
    if condition is None:
        return
    single = isinstance(condition, Q) and len(condition.children) == 1
    if not isinstance(condition, Q) or (
        not single and (condition.connector != Q.AND or condition.negated)
    ):
        yield "", "", str(condition), False
        return
    for child in condition.children:
        if isinstance(child, tuple):
            name, _, kind = child[0].partition("__")
            yield name, kind or "exact", child[1], condition.negated
        elif condition.negated:
            yield "", "", str(condition), False
        else:
            yield from _leaves(child)
