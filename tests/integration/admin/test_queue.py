"""The queue: what is in it, in which order, and what its head says."""

from datetime import timedelta

import pytest

from fulfilment import rounds, store
from fulfilment.models import ConnectorStanding, Evidence, Finding, Pulse
from fulfilment.states import State
from tests.integration.admin import cast, pages

HOURS = timedelta(hours=1)


@pytest.fixture
def queue(browser, senior):
    client = browser(senior)
    return lambda query="": client.get(pages.QUEUE + query)


def listed(response):
    return [row.pk for row in response.context_data["cl"].result_list]


def test_an_empty_queue_says_so_in_words(queue):
    assert "Nothing needs reconciliation." in pages.text(queue())


def test_only_what_needs_reconciliation_is_listed_oldest_first(queue):
    young = cast.unknown(age=1 * HOURS)
    old = cast.unknown(age=50 * HOURS)
    cast.payment()
    cast.moved(cast.unknown(), State.FULFILLED, reason="done")
    assert listed(queue()) == [old.pk, young.pk]


def test_each_row_says_what_how_much_why_and_who(queue, senior):
    row = cast.unknown(amount=123456, age=5 * HOURS)
    cast.said(row, Finding.NOT_FOUND)
    cast.case(row, owner=senior)
    page = pages.text(queue())
    for words in (
        "Payout to •••• 6789 at bank 058",
        "NGN 1,234.56",
        "5 hours 1 to 24 hours",
        "Nobody knows yet",
        "Sandbox did not find it",
        "no answer by the deadline",
        "senior",
    ):
        assert words in page, f"the row does not say {words!r}"
    assert page.count("UTC (") >= 4, "a time lost its zone or its age"


@pytest.mark.parametrize(
    ("amount", "currency", "written"),
    [(123456, "NGN", "NGN 1,234.56"), (123456, "JPY", "JPY 123,456"), (5, "KWD", "KWD 0.005")],
)
def test_amounts_are_in_major_units_with_the_exponent_of_their_currency(
    queue, amount, currency, written
):
    cast.unknown(amount=amount, currency=currency)
    assert written in pages.text(queue())


def test_the_head_sums_each_currency_and_counts_ages(queue):
    cast.unknown(amount=100, age=1 * HOURS + timedelta(minutes=1))
    cast.unknown(amount=250, age=90 * HOURS)
    cast.unknown(amount=7, currency="JPY")
    page = pages.text(queue())
    assert "NGN 3.50 in 2 payments" in page
    assert "JPY 7 in 1 payment" in page
    assert "under 1 hour : 1 1 to 24 hours : 1 1 to 3 days: none over 3 days : 1" in page


def test_the_filters_narrow_to_case_age_owner_connector_and_currency(queue, senior):
    mine = cast.unknown(age=2 * HOURS)
    cast.case(mine, owner=senior)
    other = cast.unknown(currency="EUR")
    for query, expected in (
        ("?case=open", [mine.pk]),
        ("?case=none", [other.pk]),
        ("?age=day", [mine.pk]),
        ("?owner=me", [mine.pk]),
        ("?owner=nobody", [other.pk]),
        ("?owner=not-a-person", []),
        ("?currency=EUR", [other.pk]),
        ("?connector=sandbox", [mine.pk, other.pk]),
    ):
        assert listed(queue(query)) == expected, f"{query} lists the wrong rows"


def test_a_filter_that_fits_nothing_offers_the_whole_queue(queue):
    cast.unknown()
    assert "Show the whole queue (1)" in pages.text(queue("?case=open"))


def test_a_payment_is_found_by_reference_payment_id_and_provider_id(queue):
    row, _ = cast.unknown(), cast.unknown()
    cast.said(row, Finding.ACCEPTED, provider_id="pay_42")
    for query in (row.reference, row.payment_id, "pay_42"):
        assert listed(queue(f"?q={query}")) == [row.pk], f"a search for {query} does not find it"


def test_a_red_line_says_in_words_that_the_checks_have_stopped(queue):
    rounds.whole_round()
    cast.unknown()
    assert "have stopped" not in pages.text(queue())
    cast.unknown(next_check=-timedelta(minutes=43))
    page = pages.text(queue())
    assert "The automatic checks have stopped. 1 payment should have been checked by now" in page
    assert "overdue:" in page


def test_a_red_line_says_which_round_is_missing_while_nothing_is_overdue_yet(queue):
    rounds.whole_round()
    Pulse.objects.filter(name="look_up").update(at=store.now() - timedelta(hours=1))
    page = pages.text(queue())
    assert "The automatic checks have stopped. The last round of look-ups is long ago" in page
    assert "The last sweep" not in page


def test_cases_on_payments_with_a_verdict_are_not_forgotten(queue):
    cast.case(cast.moved(cast.unknown(), State.FULFILLED, reason="done"))
    assert "1 open case on payments that have a verdict" in pages.text(queue())


def test_the_queue_reads_the_database_as_often_for_many_rows_as_for_one(
    queue, django_assert_max_num_queries
):
    for _ in range(8):
        cast.said(cast.unknown(), Finding.NOT_FOUND)
    assert Evidence.objects.count() == 16
    with django_assert_max_num_queries(26):
        queue()


def test_the_queue_and_the_case_say_that_nobody_calls_a_provider_and_until_when(
    queue, browser, senior
):
    row = cast.unknown()
    until = store.now() + timedelta(seconds=30)
    ConnectorStanding.objects.create(name=row.connector, failures=10, open_until=until)
    said = f"Sandbox gave no answer 10 times in a row. It is not called before {until:%H:%M:%S} UTC (in "
    assert said in pages.text(queue())
    assert said in pages.text(browser(senior).get(pages.case(row)))
    ConnectorStanding.objects.update(open_until=store.now())
    assert "times in a row" not in pages.text(queue()), "its rest is over"
