"""Two guarded views, atomic and leased. Effects are rows; the other system's books are a table, too."""

from typing import Any

from django.db import connection
from django.http import Http404
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response
from rest_framework.views import APIView

from idempotency import Answer, Done, NotDone, Record, Refusal, Transient, idempotent
from tests.integration.idempotency import stage
from tests.integration.idempotency.views import Staged

GATE = 20261130  # the advisory lock at which a slow play waits
TWIN = 999_999  # the row that a play's effect refers to; without it COMMIT refuses the play

BOOKS = "CREATE TABLE IF NOT EXISTS staged_books (reference text PRIMARY KEY, calls int NOT NULL)"


class NoMoney(Refusal):
    """The account does not hold enough money for this."""

    code = "insufficient_balance"


RAISED = {
    "raises a refusal": NoMoney(),
    "raises what input lacks": ValidationError({"amount": ["too small"]}),
    "raises a 404": Http404(),
    "raises not now": Transient(retry_after=3),
    "raises a bug": ZeroDivisionError(),
}


class Atomic(Staged, APIView):
    @idempotent(operation="staged.atomic")
    def post(self, request: Any) -> Response:
        play = request.data["play"]
        if play == "waits":
            _run("SELECT pg_advisory_xact_lock(%s)", GATE)
        n = stage.effect(request, twin=TWIN if play == "needs its twin" else None)
        if play in RAISED:
            raise RAISED[play]
        status = int(play.removeprefix("returns ")) if play.startswith("returns ") else 201
        return Response({"play": play, "n": n if status == 201 else 0}, status=status)


class Leased(Staged, APIView):
    @idempotent("leased", recover="ask", operation="staged.leased")
    def post(self, request: Any) -> Response:
        claim = request.idempotency
        claim.sending()
        _run(
            "INSERT INTO staged_books VALUES (%s, 1)"
            " ON CONFLICT (reference) DO UPDATE SET calls = staged_books.calls + 1",
            claim.reference,
        )
        with claim.settling():
            return Response({"n": stage.effect(request)}, status=201)

    def ask(self, record: Record) -> Done | NotDone:
        """The other system recognises a reference: the same one again would add nothing."""
        if not _run("SELECT 1 FROM staged_books WHERE reference = %s", record.reference):
            return NotDone()
        return Done(lambda: _found(record))


def _found(record: Record) -> Answer:
    _run("INSERT INTO stage_effects (owner, note) VALUES (%s, 'found')", record.scope)
    return Answer(201, (("Content-Type", "application/json"),), b'{"n":"found"}')


def _run(statement: str, *values: object) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []
