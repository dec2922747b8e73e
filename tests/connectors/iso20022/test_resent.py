"""The same reference again: the bank knows it by what never changes (II.17, C073)."""

from datetime import UTC, datetime, timedelta

import pytest

from fulfilment.connectors.iso20022 import connector
from fulfilment.dispatch import attempt
from fulfilment.models import Evidence
from tests.connectors.iso20022 import workers
from tests.connectors.iso20022.payments import Town, send_again
from tests.integration.fulfilment.support import now, path

pytestmark = [pytest.mark.processes]


class Tomorrow(datetime):
    """The clock of a host that is a day ahead."""

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        return datetime.now(UTC) + timedelta(days=1)


def test_a_file_that_the_bank_has_already_is_looked_up_and_is_no_failure(town: Town) -> None:
    town.wire.lose_answers()
    row = town.sent()
    town.wire.heal()
    send_again(row)
    attempt.run(row.pk)
    refused = next(f for f in town.bank.files() if f["status"] == 422)  # newest first
    assert refused, "the bank took a second file, so nothing is proved"
    again = now(row)
    assert again.state == "needs_reconciliation", f"a duplicate was taken for {again.state}"
    town.settled(row)
    town.paid_once(row)
    assert town.wire.posted(row.reference) == 2
    told = Evidence.objects.filter(fulfilment=row, finding="not_done")
    assert not told.exists(), "the refusal of the second copy was believed about the first"


@pytest.mark.long
def test_a_restarted_worker_with_another_clock_sends_the_same_ids(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    town.wire.lose_requests()
    with monkeypatch.context() as another_host:
        another_host.setattr(connector, "datetime", Tomorrow)
        row = town.sent()
    town.wire.heal()
    send_again(row)
    worker = workers.one_attempt(row, town)
    assert worker.wait(timeout=60) == 0
    said = town.wire.ids()
    assert len(set(said.pop("CreDtTm"))) == 2, "both files were written by one clock"
    assert said == dict.fromkeys(said, [row.reference] * 2), "an id was made from what changes"
    town.settled(row)
    town.paid_once(row)
    assert path(row).count("dispatching") == 2
