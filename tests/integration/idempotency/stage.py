"""A stage for guarded handlers: each test says what the handler does; effects are rows it wrote."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection
from django.http.response import HttpResponseBase
from rest_framework.response import Response

Act = Callable[..., HttpResponseBase]

TABLE = """
CREATE TABLE IF NOT EXISTS stage_effects (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner uuid NOT NULL,
    note text NOT NULL,
    twin bigint REFERENCES stage_effects (id) DEFERRABLE INITIALLY DEFERRED
)
"""


@dataclass
class Stage:
    """What the handlers play, and how often they were called."""

    act: Act | None = None
    progress: Callable[..., Any] | None = None
    recover: Callable[..., Any] | None = None
    calls: int = 0
    asked: int = 0
    requests: list[Any] = field(default_factory=list)

    def play(self, request: Any) -> HttpResponseBase:
        self.calls += 1
        self.requests.append(request)
        assert self.act is not None, "the test did not say what the handler does"
        return self.act(request)

    def ask(self, record: Any) -> Any:
        self.asked += 1
        assert self.recover is not None, "asked, although the test did not expect a question"
        return self.recover(record)


stage = Stage()


def effect(request: Any, note: str = "", *, twin: int | None = None) -> int:
    """One durable side effect of the handler, in the handler's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO stage_effects (owner, note, twin) VALUES (%s, %s, %s) RETURNING id",
            [request.user.pk, note, twin],
        )
        return int(cursor.fetchone()[0])


def effects(owner: UUID | None = None) -> int:
    """N: how many effects are committed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM stage_effects WHERE %(owner)s::uuid IS NULL OR owner = %(owner)s",
            {"owner": owner},
        )
        return int(cursor.fetchone()[0])


def rows() -> list[tuple[str, str, int | None]]:
    """What is on record: (key, status, stored code)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT key, status, response_code FROM idempotency_keys ORDER BY created_at"
        )
        return list(cursor.fetchall())


def writes_then(error: Exception) -> Act:
    """A handler that has its effect and then raises."""

    def act(request: Any) -> HttpResponseBase:
        effect(request)
        raise error

    return act


def succeeds(request: Any) -> HttpResponseBase:
    """A handler that has its effect and says so."""
    return Response({"n": effect(request)}, status=201)
