"""What an event says becomes evidence, and settles its fulfilment once, by the same rules."""

import pytest

from fulfilment.dispatch import attempt
from fulfilment.dispatch.claim import claim
from fulfilment.models import Case, Evidence, ProviderEvent
from fulfilment.reconcile import lookups
from fulfilment.webhooks.applying import apply, apply_due
from tests.integration.fulfilment.support import now, path, start
from tests.integration.webhooks.support import about, deliver, due, stored, unknown

pytestmark = pytest.mark.django_db


def test_a_success_settles_its_fulfilment(books) -> None:
    row = unknown()
    body = about(row)
    deliver(body)
    assert now(row).state == "needs_reconciliation", "the work was done inside the request"
    apply(stored(body).pk)
    assert now(row).state == "fulfilled"
    assert books.told == {"fulfilled": 1}
    kept = stored(body)
    assert (kept.status, kept.fulfilment, kept.next_check_at) == ("applied", row, None)
    assert kept.applied_at is not None


def test_what_an_event_says_is_evidence_like_any_other() -> None:
    row = unknown()
    body = about(row, recipient={"bank": "058", "account": "••••6789"})
    deliver(body)
    apply_due()
    evidence = Evidence.objects.get(source="webhook")
    assert (evidence.finding, evidence.conclusive, evidence.actor) == (
        "done",
        True,
        "provider:memory",
    )
    assert (evidence.amount, evidence.currency, evidence.recipient) == (500, "NGN", "058 ••••6789")
    assert bytes(evidence.payload.body) == body
    assert evidence.said_at is not None
    assert evidence == stored(body).evidence
    assert now(row).transitions.get(after="fulfilled").evidence == evidence


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_clock_that_is_out_of_its_mind_keeps_no_fulfilment_from_being_settled(at: str) -> None:
    row = unknown()
    body = about(row, created_at=at)
    deliver(body)
    apply_due()
    assert stored(body).status == "applied", "its evidence cannot be read again, by anybody"
    assert now(row).state == "fulfilled"


def test_a_failure_settles_its_fulfilment_once_no_attempt_can_pay_any_more(books) -> None:
    row = unknown()
    deliver(about(row, "transfer.failed"))
    apply_due()
    assert now(row).state == "failed"
    assert books.told == {"failed": 1}


@pytest.mark.parametrize("times", [1, 5])
def test_however_often_it_is_applied_it_says_it_once(books, times: int) -> None:
    row = unknown()
    body = about(row)
    deliver(body)
    for _ in range(times):
        due()
        apply(stored(body).pk)
        apply_due()
    assert Evidence.objects.filter(source="webhook").count() == 1
    assert books.told == {"fulfilled": 1}


def test_an_event_during_the_call_is_kept_and_moves_nothing(provider, books) -> None:
    row = start()
    claimed = claim(row.pk, worker="worker:a")
    body = about(row)
    deliver(body)
    apply_due()
    assert now(row).state == "dispatching"
    assert stored(body).status == "applied", "what was said is on record: that is all it can do"
    assert not books.told
    assert attempt.mark(claimed)
    attempt.settle(claimed, attempt.send(claimed))
    assert path(row) == ["pending", "dispatching", "fulfilled"]
    assert books.told == {"fulfilled": 1}


def test_an_event_during_the_call_settles_what_the_call_could_not_learn(provider, books) -> None:
    row = start()
    provider.will.append("lose_answer")
    claimed = claim(row.pk, worker="worker:a")
    assert attempt.mark(claimed)
    outcome = attempt.send(claimed)
    deliver(about(row))
    apply_due()
    attempt.settle(claimed, outcome)
    assert now(row).state == "fulfilled"
    assert provider.questions == [], "the provider had told us already"


def test_an_event_that_agrees_with_the_verdict_changes_nothing(books) -> None:
    row = start()
    attempt.run(row.pk)
    deliver(about(row))
    apply_due()
    assert now(row).version == 2
    assert books.told == {"fulfilled": 1}
    assert not Case.objects.exists()


def test_a_failure_after_the_success_is_flagged_and_undoes_nothing(books, provider) -> None:
    row = unknown()
    provider.books[row.reference] = row.amount
    deliver(about(row))
    apply_due()
    deliver(about(row, "transfer.failed", created_at="2026-01-01T00:00:00Z"))
    apply_due()
    assert not Case.objects.exists(), "an old report alarms somebody before the provider was asked"
    lookups.look_up_due()
    assert (now(row).state, books.told) == ("fulfilled", {"fulfilled": 1})
    assert not Case.objects.exists(), "the provider was asked, and says that it was done"
    late = ProviderEvent.objects.get(type="transfer.failed")
    assert (late.status, late.reason) == (
        "applied",
        "the provider was asked, and says that it was done",
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"amount": 99.99},
        {"amount": "500"},
        {"amount": None},
        {"amount": 501},
        {"currency": "USD"},
        {"currency": None},
    ],
    ids=str,
)
def test_a_success_with_another_amount_or_currency_settles_nothing(books, wrong) -> None:
    row = unknown()
    body = about(row, **wrong)
    assert deliver(body).status_code == 200
    apply_due()
    assert now(row).state == "needs_reconciliation"
    assert Case.objects.get(fulfilment=row).reason == "conflict"
    assert Evidence.objects.get(source="webhook").digest == stored(body).digest
    assert not books.told


def test_an_event_whose_status_contradicts_its_type_settles_nothing() -> None:
    row = unknown()
    deliver(about(row, status="failed"))
    apply_due()
    assert now(row).state == "needs_reconciliation"
    assert Evidence.objects.get(source="webhook").finding == "unknown"


def test_a_provider_is_not_believed_about_the_rows_of_another() -> None:
    row = unknown()
    body = about(row)
    deliver(body, address="/v1/webhooks/foreign")
    apply_due()
    assert now(row).state == "needs_reconciliation"
    assert stored(body).status == "dead", "it is kept from being believed, and nobody hears of it"


def test_one_address_may_speak_for_several_connectors() -> None:
    row = unknown(connector="airtime")
    deliver(about(row, "airtime.succeeded"))
    apply_due()
    assert now(row).state == "fulfilled"


# --- what dies or raises ---------------------------------------------------------------------------
