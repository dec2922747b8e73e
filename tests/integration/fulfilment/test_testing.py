"""The helpers for adopters' tests: a fake that can be believed, and messages that name the cause."""

import fcntl
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import override_settings

import fulfilment
from fulfilment import transitions
from fulfilment.connectors import registry
from fulfilment.connectors.base import Capabilities, Dedupe, Instruction, NotFound, Unknown
from fulfilment.dispatch import attempt
from fulfilment.models import Attempt, Case, Fulfilment, ProviderEvent
from fulfilment.states import State
from fulfilment.testing import (
    POINTS,
    PROMISES,
    FakeProvider,
    assert_books_agree,
    assert_nothing_paid,
    assert_paid_once,
    deliver,
    dispatch_now,
    fake_connector,
    make_due,
    pass_time,
    run_for,
    run_round,
    sign,
)
from fulfilment.testing import books as books_
from fulfilment.testing.fixtures import fake_connectors
from tests.integration.fulfilment.support import Books, now, path
from tests.integration.fulfilment.support import start as start_

__all__ = ["fake_connectors"]

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.fixture
def bank() -> Iterator[FakeProvider]:
    with fake_connector("bank") as bank:
        yield bank


def start(**given: Any) -> Fulfilment:
    return start_(connector="bank", **given)


def sent(bank: FakeProvider, word: Any = "done", **given: Any) -> Fulfilment:
    """A row that was sent once, with this outcome."""
    row = start(**given)
    bank.on_send(word, reference=row.reference)
    dispatch_now()
    return now(row)


def order(reference: str = "r", amount: int = 500, *, seconds: float = 1) -> Instruction:
    deadline = timedelta(seconds=seconds)
    return Instruction(reference=reference, amount=amount, currency="NGN", deadline=deadline)


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


@pytest.mark.parametrize("word", ["answer_lost", "request_lost", "raises", "not_sent", "refused"])
def test_whatever_is_lost_is_paid_once_in_the_end(bank: FakeProvider, word: str) -> None:
    assert sent(bank).state == "fulfilled"  # found by every look-up: the canary
    row = sent(bank, word)
    run_for(HOUR * 3)
    assert now(row).state == "fulfilled"
    assert assert_paid_once(bank, row).amount == row.amount
    assert_books_agree(bank)


def test_time_that_passes_settles_nothing_that_nobody_knows(bank: FakeProvider) -> None:
    row = sent(bank, "request_lost")  # no canary: not found proves nothing
    pass_time(timedelta(hours=25))
    run_round()
    assert now(row).state == "needs_reconciliation"
    assert Case.objects.get().reason == "deadline"
    assert_nothing_paid(bank, row)
    bank.pay(row.reference)  # it was under way all the time
    bank.report(row.reference)
    assert ProviderEvent.objects.get().applied_at is None, "delivered is not applied"
    assert run_round().applied == 1
    assert now(row).state == "fulfilled"
    assert_paid_once(bank, row)


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


def test_what_was_paid_stays_paid_when_our_transaction_is_undone(bank: FakeProvider) -> None:
    with transaction.atomic():
        row = start()
        registry.build("bank").send(order(row.reference))
        transaction.set_rollback(True)
    with pytest.raises(AssertionError, match=f"{row.reference} was paid, and no fulfilment has it"):
        assert_books_agree(bank)


def test_an_event_is_delivered_through_the_real_address(bank: FakeProvider) -> None:
    body = bank.event("transfer.succeeded", reference="nobody knows it")
    assert deliver("bank", body).content == b""
    assert deliver("bank", body, headers={}, status=401).status_code == 401
    forged = sign(body, secret="whsec_" + "b" * 32)
    with pytest.raises(AssertionError, match="401 instead of 200: signature_refused: No signature"):
        deliver("bank", body, headers=forged)
    with pytest.raises(AssertionError, match="400 instead of 200: event_malformed"):
        deliver("bank", b"{}")
    with (
        override_settings(ROOT_URLCONF="tests.integration.idempotency.urls"),
        pytest.raises(AssertionError, match="no address takes events"),
    ):
        deliver("bank", body)


def test_money_that_moved_otherwise_is_named(bank: FakeProvider) -> None:
    row = start()
    with pytest.raises(AssertionError, match=r"was never sent\. Is it due"):
        assert_paid_once(bank, row)
    bank.on_send("refused")
    dispatch_now()
    with pytest.raises(AssertionError, match="sent 1 times, and the answers were Refused"):
        assert_paid_once(bank, row)
    make_due(row)
    dispatch_now()
    with pytest.raises(AssertionError, match=f"bank has paid 1 times: {row.reference}"):
        assert_nothing_paid(bank)


def test_money_that_is_paid_twice_is_named() -> None:
    with fake_connector("bank", capabilities=replace(PROMISES, dedupe=Dedupe.NONE)) as bank:
        row = sent(bank)
        attempt.send(claimed(row))  # as a worker would that takes a message for a fact
        with pytest.raises(AssertionError, match=r"paid 2 times.*does not know its references"):
            assert_paid_once(bank, row)
        with pytest.raises(AssertionError, match="is fulfilled and was paid 2 times"):
            assert_books_agree(bank)


@pytest.mark.parametrize(
    ("word", "state", "complaint"),
    [
        ("request_lost", State.FULFILLED, "is fulfilled, and nothing was paid"),
        ("answer_lost", State.FAILED, "is failed, and it was paid"),
    ],
)
def test_a_verdict_that_is_not_true_is_named(
    bank: FakeProvider, word: str, state: State, complaint: str
) -> None:
    row = sent(bank, word)
    transitions.move(row, to=state, actor="test", reason="a guess")
    with pytest.raises(AssertionError, match=complaint):
        assert_books_agree(bank)


def test_another_amount_than_ours_is_named(bank: FakeProvider) -> None:
    row = sent(bank, "request_lost")
    bank.pay(row.reference, amount=1)
    transitions.move(row, to=State.FULFILLED, actor="test", reason="a guess")
    with pytest.raises(AssertionError, match="and 1 NGN was paid instead of 500 NGN"):
        assert_books_agree(bank)


def test_what_cannot_come_due_says_why(bank: FakeProvider) -> None:
    with pytest.raises(AssertionError, match="nothing is due any more: it is fulfilled"):
        make_due(sent(bank))
    row = start()
    claimed(row)
    with pytest.raises(AssertionError, match="a worker has it until its lease is over"):
        make_due(row)
    assert run_round().swept == 0
    pass_time(timedelta(seconds=31))
    assert run_round().swept == 1
    assert path(now(row))[-2:] == ["dispatching", "fulfilled"]


def test_time_passes_for_what_is_written_once_and_its_guards_come_back(bank: FakeProvider) -> None:
    sent(bank)
    before = Attempt.objects.get()
    pass_time(HOUR)
    after = Attempt.objects.get()
    assert before.claimed_at - after.claimed_at == HOUR
    later = Attempt.objects.filter(pk=after.pk)
    with pytest.raises(IntegrityError, match="written of an attempt stays"), transaction.atomic():
        later.update(claimed_at=before.claimed_at)


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


def test_every_point_that_is_passed_can_be_named() -> None:
    source = "".join(file.read_text() for file in Path(fulfilment.__path__[0]).rglob("*.py"))
    passed = set(re.findall(r'checkpoint\("([\w.]+)"\)', source))
    assert set(POINTS) == passed, (
        "a point is passed that no test can name, or named and never passed"
    )


def claimed(row: Fulfilment) -> Any:
    """In the hands of a worker; of a row that is settled, as if it still were."""
    from fulfilment.dispatch.claim import Claimed, claim

    begun = claim(row.pk, worker="worker:test")
    return begun or Claimed(fulfilment=row, attempt=row.attempts.get(), begun=float("inf"))
