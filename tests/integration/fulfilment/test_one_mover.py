"""One function moves a fulfilment: nothing else writes `state`, neither in the source nor in a run."""

import ast
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

import fulfilment
from fulfilment import rounds, transitions
from fulfilment.dispatch import attempt
from fulfilment.models import Fulfilment
from fulfilment.reconcile import cancellations, cases
from fulfilment.reconcile.evidence import Finding
from tests.integration.fulfilment.support import due, event, held, now, staff, start

pytestmark = pytest.mark.django_db

HOME = Path(fulfilment.__file__).parent
MOVER = Path(transitions.__file__)
WRITES = re.compile(r'UPDATE "?fulfilment"? SET (?:(?!WHERE).)*"?\bstate"? =', re.S)


def moved_by_others() -> Iterator[str]:
    """Where an assignment to `state` or a journal row is written beside the one function."""
    for path in HOME.rglob("*.py"):
        if path == MOVER or {"migrations", "provider"} & set(path.parts):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if _moves(node):
                yield f"{path.relative_to(HOME)}:{node.lineno}"  # type: ignore[attr-defined]


def _moves(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="update"), keywords=given):
            return any(k.arg == "state" for k in given)
        case ast.Call(
            func=ast.Attribute(
                attr="create" | "bulk_create", value=ast.Attribute(value=ast.Name(id="Transition"))
            )
        ):
            return True
        case ast.Assign(targets=[ast.Attribute(attr="state", value=ast.Name(id=subject)), *_]):
            return subject != "self"
        case ast.Constant(value=str(text)):
            return bool(WRITES.search(text))
    return False


def test_no_other_source_writes_the_state_or_the_journal() -> None:
    assert not (found := list(moved_by_others())), f"moved beside transitions.move: {found}"


def everything(provider: Any) -> None:
    """A row for each way of the machine."""
    senior = staff("senior", "resolve_failed", "send_again", "correct_failed", "resolve_fulfilled")
    provider.will.extend(["ok", "decline", "not_sent", "lose_answer", "lose_request"])
    rows = [start() for _ in range(5)]
    for row in rows:
        attempt.run(row.pk)
    event(rows[0], Finding.REVERSED)
    event(rows[1], Finding.DONE)
    late = {"verdict": "fulfilled", "evidence_reference": "s"}
    cases.resolve(rows[1].pk, actor=senior, version=now(rows[1]).version, **late)
    cancellations.cancel(start(), actor="ada", reason="mistake")
    again = start()
    held(again, sent=True)
    for row in Fulfilment.objects.filter(state="needs_reconciliation"):
        due(row)
    rounds.whole_round()
    provider.can_be_asked = False
    given = {"verdict": "send_again", "evidence_reference": "s"}
    cases.resolve(again.pk, actor=senior, version=now(again).version, **given)


@pytest.mark.long
def test_whatever_is_done_only_the_one_function_moves(provider) -> None:
    movers: list[str] = []

    def watch(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if WRITES.search(str(sql)):
            callers = [frame.filename for frame in traceback.extract_stack()]
            movers.append(str(MOVER) if str(MOVER) in callers else callers[-4])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        everything(provider)
    assert set(movers) == {str(MOVER)}, f"the state was written by {set(movers)}"
    states = set(Fulfilment.objects.values_list("state", flat=True))
    assert states >= {"reversed", "fulfilled", "cancelled", "failed"}, states
    assert len(movers) == sum(Fulfilment.objects.values_list("version", flat=True))
