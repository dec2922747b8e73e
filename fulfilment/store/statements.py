"""Runs a statement that changes one row, or none."""

from typing import Any

from django.db import connection


def changed(statement: str, values: dict[str, Any]) -> bool:
    """True: it changed one."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return bool(cursor.rowcount == 1)
