"""A row of `idempotency_keys` as every statement reads it: the columns, and the record they make."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idempotency.contract import Answer, Record, Status

# A record and the database's time, as `as_row` reads them.
COLUMNS = """
user_id, key, request_hash, status, operation, created_at, response_code, response_headers,
response_body, locked_until, sent_at, held_at, hold_reason, next_check_at, clock_timestamp()
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A record and the database's time at which it was read."""

    record: Record
    now: datetime


def as_row(found: tuple[Any, ...]) -> Row:
    """The row that COLUMNS selected."""
    scope, key, print_, status, operation, created_at, code, headers, body, *open_until, now = found
    locked_until, sent_at, held_at, hold_reason, next_check_at = open_until
    record = Record(
        scope=scope,
        key=key,
        fingerprint=print_,
        status=Status(status),
        operation=operation,
        created_at=created_at,
        answer=None if code is None else _answer(code, headers, body),
        locked_until=locked_until,
        sent_at=sent_at,
        held_at=held_at,
        hold_reason=hold_reason,
        next_check_at=next_check_at,
    )
    return Row(record, now)


def _answer(code: int, headers: str, body: bytes) -> Answer:
    pairs = json.loads(headers)  # Django hands jsonb over as text
    return Answer(code, tuple((name, value) for name, value in pairs), bytes(body))
