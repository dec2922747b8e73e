"""What the case page says where a payment went a rare way: it is known by whom, and nothing is guessed."""

from datetime import timedelta

import pytest
from django.utils import timezone

from fulfilment.dispatch import restored
from fulfilment.models import Finding, Fulfilment, Source
from fulfilment.states import State
from tests.integration.admin import cast, pages

pytestmark = pytest.mark.django_db


@pytest.fixture
def read(browser, senior):
    """The case page of a row, as it reads."""
    client = browser(senior)
    return lambda row: pages.text(client.get(pages.case(row)))


def test_what_a_statement_says_is_the_word_of_the_provider(read) -> None:
    row = cast.unknown()
    said = {"amount": row.amount, "currency": row.currency, "conclusive": True}
    cast.said(row, Finding.DONE, source=Source.STATEMENT, **said)
    page = read(row)
    assert "Sandbox, in a statement that we fetched said done: NGN 100.00" in page
    assert "Sandbox said done at" in page, "the story tells nothing of the statement"
    assert "has not said yet what became of it" not in page


def test_two_payees_whose_numbers_end_alike_differ_and_the_button_warns(read) -> None:
    row = cast.unknown()
    said = {"amount": row.amount, "currency": row.currency, "conclusive": True}
    cast.said(row, Finding.DONE, recipient="******6789", other_recipient=True, **said)
    page = read(row)
    assert "The payee differs" in page, "only the last four digits were compared"
    assert "Careful: they name another payee." in page


def test_after_a_restored_backup_nobody_is_said_to_have_sent_it(read) -> None:
    row = cast.payment()
    restored.doubt(row.pk)
    page = read(Fulfilment.objects.get(pk=row.pk))
    assert "Our database came back from a backup at" in page
    assert "Nobody knows yet whether NGN 100.00 left." in page
    assert "An operator, by the restore command restored a backup: attempt 1 stands for" in page
    for claim in ("We sent it at", "began attempt 1", "Restore "):
        assert claim not in page, f"“{claim}” is not known of an attempt whose record is lost"


def test_a_decided_payment_that_is_asked_about_again_says_when(read) -> None:
    row = cast.moved(cast.unknown(), State.FULFILLED, reason="done")
    assert "is asked about it again" not in read(row)
    due = timezone.now() + timedelta(minutes=3)
    Fulfilment.objects.filter(pk=row.pk).update(recheck_at=due)
    page = read(row)
    assert f"Sandbox is asked about it again at {due:%H:%M:%S} UTC (in 2 minutes)" in page
    assert "Then nothing, unless Sandbox gives the money back" in page


def test_where_what_was_said_contradicts_no_answer_is_promised_to_settle_it(read) -> None:
    row = cast.unknown()
    said = {"amount": row.amount + 1, "currency": row.currency, "conclusive": True}
    cast.said(row, Finding.DONE, **said)
    page = read(row)
    assert "What was said contradicts, so no answer settles it by itself: a person decides." in page
    assert "Until then Sandbox is asked again" in page
    assert "this settles by itself" not in page, "it settles by no answer: the amounts differ"


def test_before_it_is_sent_again_by_itself_the_page_says_so(read) -> None:
    row, sent_again = (
        cast.unknown(),
        "Once it is a fact that Sandbox never got it, it is sent again",
    )
    assert sent_again in read(row)
    cast.said(row, Finding.ACCEPTED)
    assert sent_again not in read(row), "what the provider has is never sent again"


def test_a_provider_that_does_not_find_it_is_not_said_to_have_said_nothing(read) -> None:
    row = cast.unknown()
    cast.said(row, Finding.NOT_FOUND)
    page = read(row)
    assert "Sandbox did not find it." in page
    assert "Unknown: Sandbox has not said yet what became of it." in page
