"""The fake provider for adopters' tests: it does what it was told, and keeps what it promises."""

import fcntl
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fulfilment.connectors import registry
from fulfilment.connectors.base import Capabilities, Dedupe, Done, NotFound, Unknown
from fulfilment.models import Case, ProviderEvent
from fulfilment.testing import (
    PROMISES,
    FakeProvider,
    assert_books_agree,
    assert_nothing_paid,
    assert_paid_once,
    dispatch_now,
    fake_connector,
    make_due,
    pass_time,
    run_round,
    sign,
)
from fulfilment.testing import books as books_
from fulfilment.testing.fixtures import fake_connectors
from tests.integration.fulfilment.faked import bank, order, sent
from tests.integration.fulfilment.support import Books, now
from tests.integration.fulfilment.support import start as start_

__all__ = ["bank", "fake_connectors"]

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("word", "state", "paid"),
    [
        ("done", "fulfilled", 1),
        ("declined", "failed", 0),
        ("refused", "pending", 0),
        ("not_sent", "pending", 0),
        ("accepted", "needs_reconciliation", 0),
        ("answer_lost", "needs_reconciliation", 1),
        ("request_lost", "needs_reconciliation", 0),
        ("raises", "needs_reconciliation", 0),
    ],
)
def test_every_outcome_can_be_had_and_the_books_tell_what_really_happened(
    bank: FakeProvider, word: str, state: str, paid: int
) -> None:
    row = sent(bank, word)
    assert row.state == state
    assert len(bank.payments(row.reference)) == paid
    assert [call.kind for call in bank.calls(row.reference)] == ["send"]
    assert_books_agree(bank)


def test_what_was_accepted_is_decided_later_by_the_bank(bank: FakeProvider, books: Books) -> None:
    paid, declined = sent(bank, "accepted"), sent(bank, "accepted")
    bank.pay(paid.reference)
    bank.decline(declined.reference)
    for row in (paid, declined):
        make_due(row)
    run_round()
    assert (now(paid).state, now(declined).state) == ("fulfilled", "failed")
    bank.give_back(paid.reference)
    bank.report(paid.reference)
    bank.report(paid.reference)
    assert ProviderEvent.objects.count() == 1, "a second delivery was another event"
    run_round()
    assert now(paid).state == "reversed"
    assert books.told == {"fulfilled": 1, "failed": 1, "reversed": 1}
    assert_books_agree(bank)
    with pytest.raises(AssertionError, match="given back afterwards"):
        assert_paid_once(bank, paid)


def test_another_amount_is_a_conflict(bank: FakeProvider) -> None:
    row = sent(bank, "request_lost")
    bank.pay(row.reference, amount=1)
    make_due(row)
    run_round()
    assert Case.objects.get().reason == "conflict"


@pytest.mark.parametrize(
    ("word", "finding"),
    [
        ("done", "done"),
        ("not_done", "not_done"),
        ("in_progress", "accepted"),
        ("not_found", "not_found"),
        ("no_information", "no_information"),
        ("raises", "no_information"),
    ],
)
def test_every_answer_to_a_look_up_can_be_had(bank: FakeProvider, word: Any, finding: str) -> None:
    row = sent(bank, "request_lost")
    bank.on_look_up(word)
    make_due(row)
    assert run_round().asked == 1
    assert row.evidence.latest("id").finding == finding


def test_what_is_said_of_a_reference_comes_first_and_for_ever_comes_last(
    bank: FakeProvider,
) -> None:
    built = registry.build("bank")
    bank.on_send("refused", times=None)
    bank.on_send("declined", times=None)  # takes the place of the last that is for ever
    bank.on_send("not_sent")
    bank.on_send("accepted", reference="r")
    said = [type(built.send(order(name))).__name__ for name in ("r", "r", "q", "q")]
    assert said == ["Accepted", "NotSent", "Declined", "Declined"]
    assert [call.said for call in bank.calls("r")] == ["Accepted", "NotSent"]


def test_a_slow_answer_comes_too_late_and_was_paid(bank: FakeProvider) -> None:
    bank.on_send("done", takes=HOUR)
    assert isinstance(registry.build("bank").send(order(seconds=0.05)), Unknown)
    assert_paid_once(bank, "r")


def test_it_keeps_what_its_capabilities_promise() -> None:
    window = Capabilities(
        dedupe=Dedupe.KEY_WINDOW, dedupe_window=HOUR, visible_after=timedelta(minutes=1)
    )
    with fake_connector("bank", capabilities=window) as bank:
        built = registry.build("bank")
        assert built.send(order()) == built.send(order()), "the same key paid twice"
        assert isinstance(built.send(order(amount=7)), Unknown), "another order under the same key"
        assert isinstance(built.look_up("r"), NotFound), "visible before it can be"
        pass_time(HOUR)
        assert not isinstance(built.look_up("r"), NotFound)
        assert len(bank.payments("r")) == 1
        built.send(order())
        assert len(bank.payments("r")) == 2, "the key was remembered beyond its window"
    with fake_connector("bank", capabilities=replace(PROMISES, lookup_by_reference=False)) as bank:
        row = sent(bank, "request_lost")
        assert bank.calls(row.reference)[-1].kind == "send", "asked, although it cannot be"


def test_only_the_named_connector_is_a_fake_and_only_in_the_block(settings: Any) -> None:
    before = settings.FULFILMENT
    with fake_connector("bank") as bank:
        assert set(settings.FULFILMENT["CONNECTORS"]) == {*before["CONNECTORS"], "bank"}
        assert bank.path.parent.exists()
    assert before == settings.FULFILMENT
    assert not bank.path.parent.exists(), "its books stay behind"


def test_the_fixture_leaves_no_connector_real(fake_connectors: Any) -> None:
    assert set(fake_connectors) == {"memory", "other"}
    row = start_()
    dispatch_now()
    assert_paid_once(fake_connectors["memory"], row)
    assert_nothing_paid(fake_connectors["other"])


def test_many_threads_have_one_bank(bank: FakeProvider) -> None:
    built = registry.build("bank")
    bank.on_send("refused", times=5)

    def one(_: int) -> str:
        return type(built.send(order())).__name__

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(one, range(20)))
    assert sorted(said) == ["Done"] * 15 + ["Refused"] * 5
    assert_paid_once(bank, "r")
    with books_.opened(bank.path), bank.path.open("ab") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_what_a_fake_cannot_do_is_said(bank: FakeProvider) -> None:
    with pytest.raises(ValueError, match=r"no answer 'lost'; there are done, declined"):
        bank.on_send("lost")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="times is one or more"):
        bank.on_look_up("done", times=0)
    with pytest.raises(AssertionError, match="nothing was ever sent under the reference r"):
        bank.pay("r")
    with pytest.raises(AssertionError, match="has paid nothing under r to give back"):
        bank.give_back("r")
    with pytest.raises(AssertionError, match="decided nothing about r to report"):
        bank.report("r")
    with pytest.raises(ValueError, match="whsec_"):
        sign(b"", secret="short")


def test_a_fake_that_is_told_to_behave_forgets_what_else_it_was_told(bank: FakeProvider) -> None:
    bank.on_send("refused", times=None)
    bank.on_look_up("no_information", times=2)
    first, second = start_(connector="bank"), start_(connector="bank")
    dispatch_now()
    assert {now(first).state, now(second).state} == {"pending"}
    bank.behave()
    for row in (first, second):
        make_due(row)
    dispatch_now()
    assert {now(first).state, now(second).state} == {"fulfilled"}, "it goes on as it was told"
    assert isinstance(registry.build("bank").look_up(first.reference), Done)
    bank.on_send("declined")
    start_(connector="bank")
    dispatch_now()
    assert len(bank.payments()) == 2, "what it is told afterwards counts"
