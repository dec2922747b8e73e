"""A table that belongs to no model, with a column that may be NULL."""

from django.db import connection

COLUMNS = "address text NOT NULL, namespace text, kind text NOT NULL, number int"


def table(*declared: str) -> None:
    """A table of nobody's, with these unique constraints and indexes."""
    constraints = [text for text in declared if text.startswith("UNIQUE")]
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE strangers ({', '.join([COLUMNS, *constraints])})")
        for text in declared:
            if text.startswith("INDEX"):
                cursor.execute(f"CREATE UNIQUE INDEX ON strangers {text.removeprefix('INDEX ')}")
