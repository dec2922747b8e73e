"""G5: nothing stays `dispatching` for longer than its lease and one sweep, whatever else happens."""

import pytest

from fulfilment.dispatch import sweep
from fulfilment.models import Attempt, Fulfilment
from tests.integration.fulfilment.support import held, now, start, unreadable

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("sent", [True, False], ids=["marked", "unmarked"])
def test_one_sweep_after_the_lease_is_enough(sent: bool) -> None:
    row = start()
    held(row, sent=sent)
    assert sweep.sweep() == 1
    assert now(row).state != "dispatching"


def test_a_lease_that_runs_is_left_alone() -> None:
    row = start()
    held(row, sent=True, lease_over=False)
    assert sweep.sweep() == 0
    assert now(row).state == "dispatching", "a working worker's payment was taken from it"


def test_rows_that_cannot_be_judged_keep_nobody_else(settings) -> None:
    """With a batch of one: what raised comes last the next time."""
    settings.FULFILMENT["BATCH"] = 1
    broken, fine = start(), start()
    held(broken, sent=False), held(fine, sent=False)
    unreadable(broken)
    for _ in range(2):
        sweep.sweep()
    assert now(fine).state == "pending", "one row that raises stops the sweep for all"
    assert Attempt.objects.filter(closed_at=None).get().fulfilment == broken


def test_no_state_is_left_without_somebody_who_looks_at_it() -> None:
    for sent in (True, False):
        held(start(), sent=sent)
    start()
    sweep.sweep()
    assert not Fulfilment.objects.filter(next_check_at=None, decided_at=None).exists()
