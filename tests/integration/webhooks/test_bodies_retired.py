"""Bodies are kept as long as somebody may need them, and not longer; what is known of them stays."""

from datetime import timedelta

import pytest
from django.core.management import call_command

from fulfilment import checks, retention, tasks
from fulfilment.dispatch import attempt
from fulfilment.models import (
    CaseReason,
    Evidence,
    Fulfilment,
    Payload,
    ProviderEvent,
    ProviderEventConflict,
    ProviderEventPayload,
)
from fulfilment.reconcile import casebook
from fulfilment.reconcile.evidence import Finding
from fulfilment.retention import Retired
from fulfilment.testing import pass_time
from fulfilment.webhooks.applying import apply_due
from tests.integration.fulfilment.support import event as said_by_event
from tests.integration.fulfilment.support import held, now, start
from tests.integration.webhooks.support import about, deliver, event, stored

pytestmark = pytest.mark.django_db

DAYS = timedelta(days=1)


@pytest.fixture
def paid() -> Fulfilment:
    """Answered, reported by an event, and contradicted by another body of that event."""
    row = start()
    attempt.run(row.pk)
    body = about(row, id="evt_1")
    deliver(body)
    deliver(about(row, id="evt_1", created_at="2026-03-02T12:00:00+00:00", fee=1))
    apply_due()
    if case := casebook.current(row):
        casebook.close_case(row, actor="t", note="looked at")
        assert case
    return now(row)


def bodies(row: Fulfilment) -> dict[str, int]:
    return {
        "evidence": Payload.objects.filter(evidence__fulfilment=row).count(),
        "events": ProviderEventPayload.objects.filter(event__fulfilment=row).count(),
        "conflicts": ProviderEventConflict.objects.filter(
            event__fulfilment=row, body__isnull=False
        ).count(),
    }


ALL = {"evidence": 2, "events": 1, "conflicts": 1}
NONE = {"evidence": 0, "events": 0, "conflicts": 0}


def test_bodies_of_what_was_decided_long_ago_are_taken_away_and_digests_stay(paid) -> None:
    assert bodies(paid) == ALL
    pass_time(89 * DAYS)
    assert retention.retire().total == 0
    pass_time(2 * DAYS)
    assert retention.retire() == Retired(evidence=2, events=1, conflicts=1)
    assert bodies(paid) == NONE
    digests = [
        *Evidence.objects.values_list("digest"),
        *ProviderEvent.objects.values_list("digest"),
    ]
    digests += ProviderEventConflict.objects.values_list("digest")
    assert [len(digest) for (digest,) in digests] == [64] * 4, "a digest went with its body"
    assert retention.retire().total == 0, "the second run finds nothing left"


def test_bodies_of_an_open_payment_stay_however_old(provider) -> None:
    row = start()
    held(row, sent=True)
    said_by_event(row, Finding.ACCEPTED, body=b"{}")
    pass_time(1000 * DAYS)
    assert retention.retire().total == 0
    assert Payload.objects.count() == 1


def test_bodies_under_an_open_case_stay_and_count_from_its_end(paid) -> None:
    casebook.open_case(paid, reason=CaseReason.OPENED_BY_AGENT, actor="t")
    pass_time(100 * DAYS)
    assert retention.retire().total == 0, "the case is open: its bodies are what it is about"
    casebook.close_case(paid, actor="t", note="done")
    assert retention.retire().total == 0
    pass_time(91 * DAYS)
    assert retention.retire().total == 4


def test_a_later_reversal_begins_the_time_anew(paid) -> None:
    pass_time(80 * DAYS)
    said_by_event(paid, Finding.REVERSED, body=b"{}")
    assert now(paid).state == "reversed"
    pass_time(20 * DAYS)
    assert retention.retire().total == 0
    pass_time(71 * DAYS)
    assert retention.retire().evidence == 3


def test_late_evidence_is_judged_as_ever_and_has_its_own_time(paid, books) -> None:
    pass_time(200 * DAYS)
    retention.retire()
    said_by_event(paid, Finding.REVERSED, body=b"{}")
    assert (now(paid).state, books.told["reversed"]) == ("reversed", 1)
    retention.retire()
    assert bodies(paid)["evidence"] == 1


@pytest.mark.parametrize(("status", "days"), [("dead", 400), ("ignored", 90)])
def test_an_event_that_fits_nothing_keeps_its_body_for_its_own_time(status: str, days: int) -> None:
    kind = "some.thing" if status == "ignored" else "transfer.failed"
    body = event(kind, reference="nobody's")
    deliver(body)
    if status == "dead":
        pass_time(4 * DAYS)
        apply_due()
        days -= 4
    assert stored(body).status == status
    pass_time((days - 1) * DAYS)
    assert retention.retire().total == 0
    pass_time(2 * DAYS)
    assert retention.retire().events == 1


def test_an_event_that_waits_keeps_its_body(provider) -> None:
    deliver(event("transfer.failed", reference="nobody's"))
    pass_time(1000 * DAYS)
    assert retention.retire().total == 0


def test_it_goes_on_in_small_steps_until_nothing_is_left(settings, provider) -> None:
    settings.FULFILMENT["RETIRE_BATCH"] = 2
    for _ in range(5):
        attempt.run(start().pk)
    pass_time(91 * DAYS)
    assert retention.retire(within=timedelta(0)).total == 0
    assert retention.retire().evidence == 5


def test_the_command_says_what_it_took_away(paid, capsys) -> None:
    pass_time(91 * DAYS)
    call_command("retire_payloads")
    said = "took away 2 bodies of evidence, 1 of events, 1 of contradictions"
    assert said in capsys.readouterr().out


def test_the_nightly_task_does_the_same(paid) -> None:
    pass_time(91 * DAYS)
    for _ in range(2):
        tasks.retire.run()
    assert bodies(paid) == NONE


@pytest.mark.parametrize(
    ("wrong", "check"),
    [
        ({"PAYLOADS_KEPT": timedelta(0)}, "E011"),
        ({"PAYLOADS_KEPT": timedelta(days=500)}, "E011"),
        ({"UNAPPLIED_KEPT": timedelta(days=1)}, "E011"),
        ({"UNAPPLIED_KEPT": timedelta(days=100), "DEAD_AFTER": timedelta(days=100)}, "E011"),
        ({"RETIRE_BATCH": 0}, "E012"),
        ({"GENERATIONS": 0}, "E012"),
    ],
)
def test_nonsense_is_refused_at_start(settings, wrong: dict[str, object], check: str) -> None:
    settings.FULFILMENT = settings.FULFILMENT | wrong
    found = [error for error in checks.settings_hold(None) if error.id == f"fulfilment.{check}"]
    assert found, f"{wrong} is taken for a setting that makes sense"
    assert found[0].hint
