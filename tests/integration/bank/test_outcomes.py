"""An outcome moves ledger, transfer and key together; what is unknown moves nothing."""

import json

import pytest

import idempotency
from fulfilment.models import Fulfilment
from ledgerline.bank import errors, outcomes
from ledgerline.bank.models import Account, Posting, Transfer
from ledgerline.bank.transfers import Order, make
from tests.integration.bank.conftest import Claim, on_hand

EXTERNAL = Order(to_account="2233445566", to_bank="058", amount=700, currency="NGN")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[idempotency.Answer]:
    """The answers that the phone's key was completed with. The key itself is the contract's part."""
    answers: list[idempotency.Answer] = []
    monkeypatch.setattr(
        idempotency,
        "complete",
        lambda scope, key, answer, **_: answers.append(answer) or True,
        raising=False,
    )
    return answers


@pytest.fixture
def open_transfer(ada: Account) -> tuple[Transfer, Fulfilment]:
    transfer = make(EXTERNAL, claim=Claim(ada.owner_id))
    return transfer, Fulfilment.objects.get(payment_id=f"transfer:{transfer.reference}")


def test_fulfilled_captures_the_hold_and_tells_201(ada, open_transfer, told) -> None:
    transfer, row = open_transfer
    outcomes.on_fulfilled(row, None)
    transfer.refresh_from_db()
    assert (transfer.state, on_hand(ada)) == ("fulfilled", (99_300, 0))
    shares = dict(
        Posting.objects.get(transfer=transfer).entries.values_list("account__name", "amount")
    )
    assert shares == {"": -700, "settlement": 700}
    [answer] = told
    headers = dict(answer.headers)
    assert answer.status == 201
    assert headers["Location"] == f"/v1/transfers/{transfer.pk}"
    assert headers["Content-Type"] == "application/json"
    body = json.loads(answer.body)
    assert (body["id"], body["state"]) == (str(transfer.pk), "fulfilled")
    assert (body["fromAccount"], body["toAccount"]) == ("******6780", "******5566")


def test_failed_releases_the_hold_and_tells_that_a_new_key_is_safe(
    ada, open_transfer, told
) -> None:
    transfer, row = open_transfer
    outcomes.on_failed(row, None)
    transfer.refresh_from_db()
    assert (transfer.state, on_hand(ada)) == ("failed", (100_000, 0))
    assert not Posting.objects.filter(transfer=transfer).exists()
    [answer] = told
    body = json.loads(answer.body)
    assert (answer.status, body["code"], body["safe_new_key"]) == (400, "transfer_failed", True)
    assert body["transfer_id"] == str(transfer.pk)


def test_reversed_posts_back_and_leaves_the_answer(ada, open_transfer, told) -> None:
    transfer, row = open_transfer
    outcomes.on_fulfilled(row, None)
    first = list(Posting.objects.get(transfer=transfer).entries.values_list("id", "amount"))
    outcomes.on_reversed(row, None)
    transfer.refresh_from_db()
    assert (transfer.state, on_hand(ada)) == ("reversed", (100_000, 0))
    assert transfer.reversed_at is not None
    capture, reversal = Posting.objects.filter(transfer=transfer).order_by("id")
    assert (capture.kind, reversal.kind) == ("capture", "reversal")
    assert list(capture.entries.values_list("id", "amount")) == first, "the original was changed"
    assert len(told) == 1, "a reversal must not touch the key"


def test_a_freeze_does_not_stop_a_fact(ada, open_transfer, told) -> None:
    from django.db.models.functions import Now

    Account.objects.filter(pk=ada.pk).update(frozen_at=Now())
    outcomes.on_fulfilled(open_transfer[1], None)
    outcomes.on_reversed(open_transfer[1], None)
    assert on_hand(ada) == (100_000, 0)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (outcomes.on_fulfilled, outcomes.on_fulfilled),
        (outcomes.on_fulfilled, outcomes.on_failed),
        (outcomes.on_failed, outcomes.on_failed),
        (outcomes.on_failed, outcomes.on_reversed),
    ],
)
def test_a_second_verdict_is_refused_and_moves_nothing(
    ada, open_transfer, told, first, second
) -> None:
    first(open_transfer[1], None)
    after_first = on_hand(ada)
    with pytest.raises(errors.BooksRefused, match="cannot become"):
        second(open_transfer[1], None)
    assert (on_hand(ada), len(told)) == (after_first, 1)


def test_late_truth_is_a_correction_and_never_silent(ada, open_transfer, told) -> None:
    outcomes.on_failed(open_transfer[1], None)
    with pytest.raises(errors.CorrectionDue, match="given up"):
        outcomes.on_fulfilled(open_transfer[1], None)
    assert (on_hand(ada), len(told)) == ((100_000, 0), 1)
