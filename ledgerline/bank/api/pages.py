"""Keyset pages: newest first, `after` names the last row that the client has seen.

Rows that arrive meanwhile shift nothing, and page 1,000 costs what page 1 costs.
"""

from typing import Any, TypeVar
from urllib.parse import urlencode

from django.db.models import Model, QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from ledgerline.bank.money import LARGEST

M = TypeVar("M", bound=Model)

_USUAL, _LARGEST = 20, 100


def limit(request: Request) -> int:
    """How many rows the client wants: 1 to 100, usually 20. Raises `ValidationError`."""
    raw = request.query_params.get("limit", str(_USUAL))
    if not (raw.isascii() and raw.isdigit() and len(raw) < 4 and 1 <= int(raw) <= _LARGEST):
        raise ValidationError({"limit": [f"Must be a number from 1 to {_LARGEST}."]})
    return int(raw)


def page(rows: QuerySet[M], *, request: Request) -> tuple[list[M], str | None]:
    """The rows of this page, and the address of the next or None."""
    size = limit(request)
    found = list(rows[: size + 1])
    if len(found) <= size:
        return found, None
    kept = request.query_params.dict() | {"limit": size, "after": found[size - 1].pk}
    return found[:size], f"{request.path}?{urlencode(kept)}"


def row_id(raw: str) -> int:
    """An `after` that is a number. Raises `ValidationError` for what names no row."""
    if not (raw.isascii() and raw.isdigit() and len(raw) < 20 and int(raw) <= LARGEST):
        raise bad_after()
    return int(raw)


def bad_after() -> ValidationError:
    """For an `after` that names no row of this list."""
    return ValidationError({"after": ["Must be the id of a row of this list."]})


def listed(name: str, rows: list[dict[str, Any]], *, following: str | None) -> dict[str, Any]:
    """The body of a page."""
    return {name: rows, "next": following}
