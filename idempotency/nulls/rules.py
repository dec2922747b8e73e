"""Does a unique constraint hold where a column is NULL? Pure: no Django, no I/O."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations

_MOST = 6  # nullable columns of one constraint whose 2^n cases are looked at


class Form(StrEnum):
    """How a unique constraint meets NULL."""

    OPEN = "two NULLs are two rows"
    NOT_DISTINCT = "NULLS NOT DISTINCT"
    PAIR = "partial indexes for NULL and for the rest"
    LEFT_OUT = "its condition leaves NULL out"
    NO_NULL = "no column may be NULL"


@dataclass(frozen=True, slots=True)
class Condition:
    """For which rows a partial index holds: all three together."""

    null: frozenset[str] = frozenset()  # columns that it wants to be NULL
    not_null: frozenset[str] = frozenset()  # columns that cannot be NULL where it is true
    rest: frozenset[str] = frozenset()  # what else it wants, as text

    def __bool__(self) -> bool:
        return bool(self.null or self.not_null or self.rest)


@dataclass(frozen=True, slots=True)
class Unique:
    """One unique constraint or index, as models or a database have it."""

    table: str
    name: str
    columns: tuple[str, ...]  # an expression stands as its text
    nullable: frozenset[str]  # those of `columns` that may be NULL
    table_nullable: frozenset[str]  # every column of the table that may be NULL
    labels: tuple[str, ...]  # its names in the allow-list; the first one is shown
    condition: Condition = field(default_factory=Condition)
    nulls_distinct: bool = True


def form_of(unique: Unique, *, beside: Iterable[Unique]) -> Form:
    """How it meets NULL; `beside` are all unique constraints of its table."""
    if not unique.nullable:
        return Form.NO_NULL
    if not unique.nulls_distinct:
        return Form.NOT_DISTINCT
    if all(any(_holds(other, unique, nulls) for other in beside) for nulls in _cases(unique)):
        return Form.PAIR
    return Form.OPEN if unique.nullable - unique.condition.not_null else Form.LEFT_OUT


def _cases(unique: Unique) -> Iterator[frozenset[str]]:
    """Every set of columns that can be NULL together."""
    columns = sorted(unique.nullable)
    if len(columns) > _MOST:
        yield frozenset(
            columns
        )  # nothing can hold for all of it: reported, and looked at by people
        return
    for count in range(1, len(columns) + 1):
        yield from map(frozenset, combinations(columns, count))


def _holds(other: Unique, unique: Unique, nulls: frozenset[str]) -> bool:
    """Does `other` keep two rows apart that `unique` should, where exactly `nulls` are NULL?

    It may ask for no more than these rows have; what is left of its columns is not NULL in them.
    """
    wanted, given = other.condition, unique.condition
    filled = (unique.nullable - nulls) | given.not_null
    return (
        set(other.columns) <= set(unique.columns) - (nulls if other.nulls_distinct else set())
        and wanted.null <= nulls | given.null
        and wanted.not_null & other.table_nullable <= filled
        and wanted.rest <= given.rest
    )
