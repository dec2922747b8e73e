"""An event is applied once, by whoever finds it, and a worker that dies loses nothing."""

import logging
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError

from fulfilment import rounds, store, tasks
from fulfilment.dispatch import attempt
from fulfilment.dispatch.claim import claim
from fulfilment.models import Case, Evidence, Fulfilment, ProviderEvent
from fulfilment.reconcile import resolve
from fulfilment.webhooks import applying
from fulfilment.webhooks.applying import apply, apply_due
from tests.integration.fulfilment.support import held, now, path, start
from tests.integration.webhooks.support import about, deliver, event, stored

pytestmark = pytest.mark.django_db


def unknown(**given: Any) -> Fulfilment:
    """A fulfilment whose call went out, and whose answer was lost."""
    row = start(**given)
    held(row, sent=True)
    rounds.sweep_round()
    assert now(row).state == "needs_reconciliation"
    return now(row)


def alerts(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.action for r in caplog.records if r.levelno >= logging.ERROR]


def due() -> None:
    """Let every waiting event be due now."""
    waiting = ProviderEvent.objects.filter(next_check_at__isnull=False)
    waiting.update(next_check_at=store.now())


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


def test_a_failure_after_the_success_is_flagged_and_undoes_nothing(books) -> None:
    row = unknown()
    deliver(about(row))
    apply_due()
    deliver(about(row, "transfer.failed", created_at="2026-01-01T00:00:00Z"))
    apply_due()
    assert now(row).state == "fulfilled"
    assert Case.objects.get().reason == "conflict"
    assert books.told == {"fulfilled": 1}


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
    assert stored(body).status == "parked"


def test_one_address_may_speak_for_several_connectors() -> None:
    row = unknown(connector="airtime")
    deliver(about(row, "airtime.succeeded"))
    apply_due()
    assert now(row).state == "fulfilled"


# --- what dies or raises ---------------------------------------------------------------------------


class Killed(BaseException):
    """As abrupt as a signal: nobody catches it."""


def killed(*_: Any, **__: Any) -> None:
    raise Killed


def test_a_worker_that_dies_before_the_verdict_leaves_an_event_that_is_not_applied(
    monkeypatch, books
) -> None:
    row = unknown()
    body = about(row)
    deliver(body)
    with monkeypatch.context() as patch:
        patch.setattr(resolve, "resolve", killed)
        with pytest.raises(Killed):
            apply(stored(body).pk)
    assert stored(body).applied_at is None, "marked as applied before the work was done"
    assert Evidence.objects.filter(source="webhook").count() == 1
    due()
    apply_due()
    assert now(row).state == "fulfilled"
    assert Evidence.objects.filter(source="webhook").count() == 1, "it was recorded twice"
    assert books.told == {"fulfilled": 1}


def test_a_worker_that_dies_after_the_verdict_takes_the_verdict_with_it(monkeypatch, books) -> None:
    row = unknown()
    body = about(row)
    deliver(body)
    with monkeypatch.context() as patch:
        patch.setattr(applying, "_applied", killed)
        with pytest.raises(Killed):
            apply(stored(body).pk)
    assert now(row).state == "needs_reconciliation"
    assert stored(body).applied_at is None
    due()
    apply_due()
    assert now(row).state == "fulfilled"
    assert len(path(row)) == 4, f"the verdict was given twice: {path(row)}"


def test_an_error_while_applying_heals_by_itself(monkeypatch, books) -> None:
    row = unknown()
    body = about(row)
    deliver(body)
    books.refuses = OperationalError("canceling statement due to lock timeout")
    apply(stored(body).pk)
    assert (now(row).state, stored(body).status) == ("needs_reconciliation", "parked")
    assert not Case.objects.exists(), "a lock that was not free is nobody's refusal"
    books.refuses = None
    due()
    apply_due()
    assert now(row).state == "fulfilled"
    assert Evidence.objects.filter(source="webhook").count() == 1


def test_books_that_refuse_leave_a_case_and_an_applied_event(books) -> None:
    row = unknown()
    body = about(row)
    deliver(body)
    books.refuses = ValueError("the account is closed")
    apply_due()
    assert Case.objects.get().reason == "handler_failed"
    assert stored(body).status == "applied"


def test_one_event_that_fails_does_not_keep_the_others(monkeypatch, books) -> None:
    bad, good = unknown(), unknown()
    deliver(about(bad, amount=7))
    bodies = [about(good)]
    deliver(bodies[0])
    write = applying.write

    def picky(row: Fulfilment, *args: Any, **kwargs: Any) -> Evidence:
        if row == bad:
            raise RuntimeError("a bug")
        return write(row, *args, **kwargs)

    monkeypatch.setattr(applying, "write", picky)
    apply_due()
    assert now(good).state == "fulfilled"
    assert now(bad).state == "needs_reconciliation"


def test_two_workers_do_not_take_the_same_event() -> None:
    body = event(reference="nobody")
    deliver(body)
    first = applying._take(stored(body).pk)
    assert first is not None
    assert applying._take(stored(body).pk) is None


# --- what is not known (yet) -----------------------------------------------------------------------


def test_an_event_before_its_fulfilment_is_parked_and_applied_after_it_was_made(books) -> None:
    from fulfilment.states import reference_of

    reference = reference_of("transfer:later", connector="memory", generation=1)
    body = event(reference=reference)
    assert deliver(body).status_code == 200
    apply_due()
    assert stored(body).status == "parked"
    assert stored(body).next_check_at > store.now()
    row = unknown(payment_id="transfer:later")
    due()
    apply_due()
    assert now(row).state == "fulfilled"
    assert stored(body).status == "applied"


def test_a_parked_event_is_asked_about_ever_more_rarely(settings) -> None:
    settings.FULFILMENT["PARK_SCHEDULE"] = tuple(timedelta(minutes=m) for m in (1, 10, 100))
    body = event(reference="nobody")
    deliver(body)
    waits = []
    for _ in range(4):
        due()
        at = store.now()
        apply(stored(body).pk)
        waits.append(round((stored(body).next_check_at - at).total_seconds() / 60))
    assert waits == [1, 10, 100, 100]
    assert stored(body).checks == 4


def test_an_event_that_fits_nothing_is_given_up_with_an_alert(settings, caplog) -> None:
    body = event(reference="nobody")
    deliver(body)
    apply_due()
    settings.FULFILMENT["DEAD_AFTER"] = timedelta(microseconds=1)
    due()
    apply_due()
    apply_due()
    assert alerts(caplog) == ["event_dead"], "one alert, and one only"
    assert stored(body).status == "dead"
    assert deliver(body).status_code == 200, "the sender would go on for days"


def test_an_event_without_a_reference_is_given_up_at_once(caplog) -> None:
    body = event(reference=None)
    deliver(body)
    apply_due()
    assert stored(body).status == "dead"
    assert alerts(caplog) == ["event_dead"]


def test_an_ignored_event_is_never_applied() -> None:
    row = unknown()
    body = about(row, "transfer.fee_adjusted")
    deliver(body)
    apply(stored(body).pk)
    assert apply_due() == 0
    assert stored(body).status == "ignored"


# --- who starts it ---------------------------------------------------------------------------------


def test_a_worker_hears_of_an_event_only_after_its_commit(
    settings, monkeypatch, django_capture_on_commit_callbacks
) -> None:
    heard: list[int] = []
    monkeypatch.setattr(tasks, "hint_event", heard.append)
    settings.FULFILMENT["EVENT_HINT"] = "fulfilment.tasks.hint_event"
    with django_capture_on_commit_callbacks(execute=True):
        body = event()
        deliver(body)
        assert heard == []
    assert heard == [stored(body).pk]


def test_the_tasks_apply_events(books) -> None:
    first, second = unknown(), unknown()
    bodies = [about(first), about(second)]
    for body in bodies:
        deliver(body)
    tasks.apply_event(stored(bodies[0]).pk)
    assert (now(first).state, now(second).state) == ("fulfilled", "needs_reconciliation")
    tasks.apply_due()
    assert now(second).state == "fulfilled"
    assert tasks.apply_event.max_retries == tasks.apply_due.max_retries == 0


def test_without_a_broker_the_sweeps_apply_events(capsys) -> None:
    row = unknown()
    deliver(about(row))
    call_command("run_sweeps", "--once")
    assert "applied 1" in capsys.readouterr().out
    assert now(row).state == "fulfilled"


# --- a body that proves nothing --------------------------------------------------------------------


@pytest.fixture
def literal_secret(provider) -> None:
    """A provider whose signature does not cover the body."""
    provider.promises(webhook_authenticates_body=False)


@pytest.mark.usefixtures("literal_secret")
def test_a_body_that_is_not_authenticated_only_makes_us_ask(provider, books) -> None:
    row = unknown()
    body = about(row)  # says done
    deliver(body)
    apply_due()
    assert provider.questions == [row.reference]
    assert now(row).state == "needs_reconciliation", "a body that anybody could write was believed"
    assert not Evidence.objects.filter(source="webhook").exists()
    assert stored(body).status == "applied"
    provider.books[row.reference] = row.amount
    again = about(row, "transfer.failed")
    deliver(again)
    apply_due()
    assert now(row).state == "fulfilled", "what the provider says when asked is what counts"


@pytest.mark.usefixtures("literal_secret")
def test_where_the_provider_cannot_be_asked_just_now_the_event_waits(provider) -> None:
    row = unknown()
    provider.can_be_asked = False
    body = about(row)
    deliver(body)
    apply_due()
    assert stored(body).status == "parked"
    provider.can_be_asked = True
    provider.books[row.reference] = row.amount
    due()
    apply_due()
    assert (now(row).state, stored(body).status) == ("fulfilled", "applied")


@pytest.mark.usefixtures("literal_secret")
def test_where_the_provider_can_never_be_asked_the_event_is_given_up(provider) -> None:
    row = unknown()
    provider.promises(lookup_by_reference=False)
    body = about(row)
    deliver(body)
    apply_due()
    assert stored(body).status == "dead"
    assert not Evidence.objects.filter(source="webhook").exists()
