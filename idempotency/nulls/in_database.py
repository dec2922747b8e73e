"""The unique indexes that a PostgreSQL really has, whoever made them."""

import re
from collections.abc import Iterable

from django.db import connections

from idempotency.nulls import predicates
from idempotency.nulls.rules import Unique

# Every unique index but the primary keys, which know no NULL, and the copies that partitions have of
# their table's. Read through to_jsonb because the column is missing before PostgreSQL 15.
UNIQUES = """
SELECT n.nspname, c.relname, i.relname, pg_table_is_visible(c.oid),
       ARRAY(SELECT COALESCE(a.attname::text, pg_get_indexdef(x.indexrelid, k, true))
               FROM generate_series(1, x.indnkeyatts) k
               LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.indkey[k - 1]
                                       AND a.attnum > 0
              ORDER BY k),
       ARRAY(SELECT a.attname::text
               FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                AND NOT a.attnotnull AND NOT t.typnotnull),
       pg_get_expr(x.indpred, x.indrelid),
       COALESCE((to_jsonb(x) ->> 'indnullsnotdistinct')::boolean, false)
  FROM pg_index x
  JOIN pg_class i ON i.oid = x.indexrelid
  JOIN pg_class c ON c.oid = x.indrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE x.indisunique AND NOT x.indisprimary AND NOT i.relispartition
   AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
 ORDER BY 1, 2, 3
"""


def uniques(alias: str) -> list[Unique]:
    """Of every table of the database, also of those that no model names. Empty if not PostgreSQL."""
    connection = connections[alias]
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        cursor.execute(UNIQUES)
        return [_unique(*row) for row in cursor.fetchall()]


def _unique(
    schema: str,
    table: str,
    index: str,
    visible: bool,  # noqa: FBT001  in the order of the statement
    columns: list[str],
    table_nullable: list[str],
    predicate: str | None,
    not_distinct: bool,  # noqa: FBT001
) -> Unique:
    full = f"{schema}.{table}.{index}"
    return Unique(
        table=table if visible else f"{schema}.{table}",
        name=index,
        columns=tuple(columns),
        nullable=frozenset(c for c in columns if _may_be_null(c, table_nullable)),
        table_nullable=frozenset(table_nullable),
        labels=(f"{table}.{index}", full) if visible else (full,),
        condition=predicates.read(predicate),
        nulls_distinct=not not_distinct,
    )


def _may_be_null(column: str, table_nullable: Iterable[str]) -> bool:
    """An expression may be if it names a column that may, unless it is made to answer all the same."""
    if column in table_nullable:
        return True
    bare = predicates.unwrapped(column)
    if bare.startswith("COALESCE(") and bare.endswith(")"):
        return _may_be_null(predicates.parts(bare[9:-1], ", ")[-1], table_nullable)
    if re.search(r" IS (NOT )?(NULL|DISTINCT FROM .*)$", bare):
        return False
    words = re.findall(r"[\w$]+", re.sub(r"'(?:[^']|'')*'|::[\w ]+", "", bare))
    return bool({*words} & {*table_nullable, "NULL"})
