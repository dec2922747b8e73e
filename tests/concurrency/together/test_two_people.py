"""Two people who contradict each other in the same moment, each in a process of their own (C108)."""

from typing import Any

import pytest

from fulfilment.models import CaseAction, Fulfilment
from tests import invariants
from tests.concurrency.killed.stage import Stage, lost_for_good
from tests.concurrency.together.crew import Crew
from tests.integration.fulfilment.support import now, staff

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.processes,
    pytest.mark.timeout(300),
]

SEED = 108
ROUNDS = 50


def test_of_two_people_who_contradict_each_other_one_decides_and_the_other_is_told(
    stage: Stage,
) -> None:
    stage.sent()
    staff("amy", "resolve_fulfilled", "resolve_failed")
    staff("bob", "resolve_fulfilled", "resolve_failed")
    rows = lost_for_good(stage, ROUNDS)
    with Crew(stage, size=2, seed=SEED) as crew:
        for number, row in enumerate(rows):
            said = crew.at_once(
                ("decide", [row.pk, "amy", "fulfilled", row.version]),
                ("decide", [row.pk, "bob", "failed", row.version]),
            )
            assert_one_decided(row, said, at=f"seed {SEED}, round {number}: {said}")
    invariants.one_audit_row_per_change()
    invariants.no_key_in_progress_without_a_reason()
    invariants.the_books_balance()
    invariants.the_books_say_what_the_machine_says()


def assert_one_decided(row: Fulfilment, said: list[tuple[str, Any]], *, at: str) -> None:
    (amy, _), (bob, _) = said
    won = {("done", "told"): "fulfilled", ("told", "done"): "failed"}.get((amy, bob))
    assert won, f"not: one of them decided, and the other was told: {at}"
    assert now(row).state == won, f"who decided did not decide: it is {now(row).state}; {at}"
    assert now(row).version == row.version + 1, f"it was moved twice: {at}"
    words = CaseAction.objects.filter(case__fulfilment=row, action="resolved")
    assert [word.verdict for word in words] == [won], f"the case says both: {at}"
