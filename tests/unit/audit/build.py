"""A conversation with an endpoint that keeps every promise, of which a test says one thing otherwise."""

import json
from collections.abc import Sequence
from typing import Any

from idempotency.audit import checks
from idempotency.audit.evidence import Evidence
from idempotency.audit.findings import Finding
from idempotency.audit.messages import Answer, Exchange, Request

MARKER = "Idempotent-Replayed"
REQUEST = Request("POST", (("Idempotency-Key", b"k"),), b"{}")


def answer(status: int = 201, body: Any = None, **headers: str) -> Answer:
    """Header names are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    raw = body if isinstance(body, bytes) else json.dumps(body or {"id": 1}).encode()
    return Answer(status, tuple(({"Content-Type": "application/json"} | named).items()), raw)


def replay(status: int = 201, body: Any = None, **headers: str) -> Answer:
    return answer(status, body, Idempotent_Replayed="true", **headers)


BUSY = answer(409, {"code": "in_progress"}, Retry_After="1")
NO = answer(400, {"code": "no"})

GOOD: dict[str, Sequence[Answer]] = {
    "first": [answer()],
    "replay": [replay()],
    "other body": [answer(422)],
    "replay again": [replay()],
    "quoted": [replay()],
    "other order": [replay()],
    "chunked": [replay()],
    "chunked other body": [answer(422)],
    "look": [answer(405, {"detail": "no"})],
    "no key": [NO],
    "long key": [NO],
    "control character": [NO],
    "not ASCII": [NO],
    "two keys": [NO],
    "at once": [answer(201, {"id": 2}), BUSY, BUSY],
    "after": [replay(201, {"id": 2})],
    "somebody else": [answer(201, {"id": 3})],
    "refused": [answer(400), replay(400)],
}


def evidence(**otherwise: Answer | Sequence[Answer]) -> Evidence:
    """The good conversation, but for these steps (`other_body` is "other body")."""
    given = GOOD | {name.replace("_", " "): _list(said) for name, said in otherwise.items()}
    exchanges = {step: tuple(_exchange(step, a) for a in said) for step, said in given.items()}
    return Evidence(exchanges, MARKER, {})


def finding(code: str, seen: Evidence) -> Finding:
    return next(found for check, found in checks.judge(seen) if check.code == code)


def _exchange(step: str, said: Answer) -> Exchange:
    seconds = 0.01 if said.status == 409 else 1.0
    return Exchange(step, REQUEST, said, began=0.0, seconds=seconds)


def _list(said: Answer | Sequence[Answer]) -> Sequence[Answer]:
    return [said] if isinstance(said, Answer) else said
