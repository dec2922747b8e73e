"""Money that came back: a posting of its own, the first untouched; the key keeps what it said."""

from uuid import uuid4

import pytest

from fulfilment.reconcile.evidence import Finding
from ledgerline.bank.models import Account, Posting, Transfer
from tests.integration.bank.conftest import on_hand
from tests.integration.bank.outside import EXTERNAL, row_of, says, sent
from tests.integration.bank.phone import Phone

pytestmark = pytest.mark.django_db


def postings() -> list[tuple[str, list[int]]]:
    """Each posting's kind and its shares, the customer's first."""
    rows = Posting.objects.filter(transfer__isnull=False).order_by("id")
    return [
        (p.kind, list(p.entries.order_by("-account__kind", "id").values_list("amount", flat=True)))
        for p in rows
    ]


@pytest.mark.parametrize("order", [("done", "reversed"), ("reversed", "done"), ("reversed",)])
def test_whatever_came_first_it_is_posted_reversed_and_told(ada: Account, order) -> None:
    phone, key = Phone(ada), str(uuid4())
    location = phone.pay(EXTERNAL, key=key)["Location"]
    row = sent(row_of(location))
    for word in order:
        says(row, Finding(word))
    assert (Transfer.objects.get().state, on_hand(ada)) == ("reversed", (100_000, 0))
    kinds = [kind for kind, _ in postings()]
    assert kinds == ["capture", "reversal"], "the reversal is not a posting of its own"
    assert sorted(share for _, shares in postings() for share in shares) == [
        *([-10_000] * 2),
        *([10_000] * 2),
    ]
    replay = phone.pay(EXTERNAL, key=key)
    assert (replay.status_code, replay.json()["state"]) == (201, "fulfilled")
    truth = phone.get(location).json()
    assert truth["state"] == "reversed"
    assert truth["reversedAt"] >= truth["decidedAt"]


def test_the_answer_that_was_given_before_the_reversal_stays_byte_for_byte(ada: Account) -> None:
    phone, key = Phone(ada), str(uuid4())
    row = sent(row_of(phone.pay(EXTERNAL, key=key)["Location"]))
    says(row, Finding.DONE)
    before = phone.pay(EXTERNAL, key=key)
    entries = list(Posting.objects.get(kind="capture").entries.values())
    for _ in range(3):
        says(row, Finding.REVERSED)
    after = phone.pay(EXTERNAL, key=key)
    assert (after.status_code, after.content) == (201, before.content)
    assert list(Posting.objects.get(kind="capture").entries.values()) == entries
    assert on_hand(ada) == (100_000, 0), "it was given back more than once"
