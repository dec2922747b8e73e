"""Two people who contradict each other in the same moment, each in a process of their own (C108)."""

from typing import Any

import pytest

from fulfilment.models import CaseAction, Fulfilment
from tests import invariants
from tests.concurrency.killed.stage import Stage, lost_for_good
from tests.concurrency.together.crew import Crew
from tests.integration.fulfilment.support import now, staff

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.django_db(transaction=True),
    pytest.mark.processes,
    pytest.mark.timeout(300),
]

SEED = 108
ROUNDS = 25  # of each kind


@pytest.mark.parametrize("verdict", ["failed", "send_again"])
def test_of_two_people_who_contradict_each_other_one_decides_and_the_other_is_told(
    stage: Stage, verdict: str
) -> None:
    stage.sent()
    staff("amy", "resolve_fulfilled")
    staff("bob", "resolve_failed", "send_again")
    rows = lost_for_good(stage, ROUNDS)
    with Crew(stage, size=2, seed=SEED) as crew:
        for number, row in enumerate(rows):
            said = crew.at_once(
                ("decide", [row.pk, "amy", "fulfilled", row.version]),
                ("decide", [row.pk, "bob", verdict, row.version]),
            )
            assert_one_decided(
                row,
                said,
                verdicts=("fulfilled", verdict),
                at=f"seed {SEED}, round {number}: {said}",
            )
    invariants.one_audit_row_per_change()
    invariants.no_key_in_progress_without_a_reason()
    invariants.the_books_balance()
    invariants.the_books_say_what_the_machine_says()


def assert_one_decided(
    row: Fulfilment, said: list[tuple[str, Any]], *, verdicts: tuple[str, str], at: str
) -> None:
    hows = [how for how, _ in said]
    assert sorted(hows) == ["done", "told"], f"not: one decided, and the other was told: {at}"
    won = verdicts[hows.index("done")]
    state = "fulfilled" if won == "fulfilled" else "failed"
    assert now(row).state == state, f"who decided did not decide: it is {now(row).state}; {at}"
    assert now(row).version == row.version + 1, f"it was moved twice: {at}"
    opened = Fulfilment.objects.filter(payment_id=row.payment_id, generation=2).count()
    assert opened == (won == "send_again"), f"paid, and sent again as well: {at}"
    words = CaseAction.objects.filter(case__fulfilment=row).exclude(verdict="")
    assert [word.verdict for word in words] == [won], f"the case says something else: {at}"
