"""Unique although a column may be NULL: to SQL two NULLs differ, and two rows get in.

One declaration gives either form of the constraint, for any model:

    class Meta:
        constraints = unique_with_null(fields=["address"], nullable="namespace", name="place_taken")
"""

from collections.abc import Sequence

from django.db.models import Q, UniqueConstraint


def unique_with_null(
    *, fields: Sequence[str], nullable: str, name: str, portable: bool = False
) -> list[UniqueConstraint]:
    """The constraints under which `fields` and `nullable` together name one row, NULL included.

    `NULLS NOT DISTINCT` where PostgreSQL is 15 or later; Django creates nothing of it on an older
    one (models.W047). `portable` is for those: a pair of partial indexes, `<name>_without` for the
    rows whose `nullable` is NULL and `<name>_within` for all others.
    """
    whole = [*fields, nullable]
    if not portable:
        return [UniqueConstraint(fields=whole, nulls_distinct=False, name=name)]
    absent = Q(**{f"{nullable}__isnull": True})
    return [
        UniqueConstraint(fields=list(fields), condition=absent, name=f"{name}_without"),
        UniqueConstraint(fields=whole, condition=~absent, name=f"{name}_within"),
    ]
