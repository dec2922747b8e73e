"""What comes long after a verdict: a success that two people ruled out, a retry of last month (II.15, 26)."""

import os
import subprocess
import sys
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.db import transaction
from django.db.models import QuerySet

from fulfilment import store
from fulfilment.models import Case, CaseAction, Fulfilment
from fulfilment.reconcile import cases
from idempotency.models import IdempotencyKey
from ledgerline.bank.models import Posting, Transfer
from tests.concurrency.whole.house import Customer, House, becomes, unbalanced
from tests.concurrency.whole.test_reported import LOST, reported, unknown
from tests.connectors.sandbox import until
from tests.integration.bank.conftest import on_hand
from tests.integration.fulfilment.support import now, staff
from tests.integration.idempotency.old_keys import grown_older
from tests.recovery.stack import BOUND, ROOT

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.processes,
    pytest.mark.chaos,
    pytest.mark.timeout(180),
]

LARGE = 50_000_00  # above what one person may decide


def test_a_success_that_is_reported_after_two_people_gave_it_up_waits_for_two_people(
    house: House, ada: Customer
) -> None:
    key, order = str(uuid4()), {"narration": LOST, "amount": LARGE}
    before = on_hand(ada.account)
    reference = unknown(ada, key, **order)
    row = fenced(Fulfilment.objects.get(reference=reference))
    two_people(row, "failed")
    told = ada.final(key, **order)
    assert (told.status_code, told.json()["code"]) == (400, "transfer_failed")
    assert on_hand(ada.account) == before, "the money of a failed transfer is still held"

    reported(house, reference)
    until(lambda: open_cases(row).exists(), what="somebody to be told of it", seconds=BOUND)
    assert open_cases(row).get().reason == "conflict"
    assert "action=verdict_contradicted" in house.stack.log(), "nobody was alerted"
    assert now(row).state == "failed", "a person's verdict was overwritten"
    assert on_hand(ada.account) == before, "money moved on a contradiction"
    assert ada.pay(key, **order).content == told.content

    two_people(row, "fulfilled")
    told = ada.final(key, **order)
    assert (told.status_code, told.json()["state"]) == (201, "fulfilled")
    assert on_hand(ada.account) == (before[0] - LARGE, before[1])
    [posting] = Posting.objects.filter(transfer=told.json()["id"])
    assert posting.kind == "correction"
    assert len(house.provider.payments(reference)) == 1
    assert unbalanced() == []


def test_a_retry_a_month_after_its_key_was_cleaned_away_pays_nothing(
    house: House, ada: Customer
) -> None:
    key = str(uuid4())
    ada.pay(key)
    becomes(ada.reference(key), "fulfilled")
    told = ada.final(key)
    with transaction.atomic():
        grown_older(timedelta(days=31))
    clean_up(house)
    assert not IdempotencyKey.objects.filter(key=key).exists(), "the clean-up left a key of 31 days"
    late, other = ada.pay(key), ada.pay(key, amount=25_000)
    assert (late.status_code, late.headers["Idempotent-Replayed"]) == (201, "true")
    assert (late.content, late.headers["Location"]) == (told.content, told.headers["Location"])
    assert (other.status_code, other.json()["code"]) == (422, "key_reused")
    assert other.json()["type"].endswith("/problems/key_reused/")
    assert Transfer.objects.filter(idempotency_key=key).count() == 1
    assert len(house.provider.payments(ada.reference(key))) == 1


def fenced(row: Fulfilment) -> Fulfilment:
    """Once no call of it can still be on its way, so that people may call it not done."""
    at = cases.fenced_from(row.attempts.get())
    until(lambda: store.now() > at, what="the last call to be over", seconds=BOUND)
    return now(row)


def two_people(row: Fulfilment, verdict: str) -> None:
    """One proposes it, the other approves it."""
    may = ("resolve_fulfilled", "resolve_failed", "correct_failed", "ask_provider")
    first, second = (staff(f"{name}-{uuid4().hex[:6]}", *may) for name in ("amy", "bob"))
    row = now(row)
    said = {"evidence_reference": "statement 17", "note": "seen", "version": row.version}
    cases.resolve(row.pk, actor=first, verdict=verdict, **said)
    assert now(row).state == row.state, "one person alone decided about so much"
    proposal = CaseAction.objects.filter(case__fulfilment=row, action="proposed").latest("id")
    decided = cases.approve(row.pk, actor=second, proposal=proposal.pk, version=row.version)
    assert decided.state == verdict


def open_cases(row: Fulfilment) -> "QuerySet[Case]":
    return Case.objects.filter(fulfilment=row, closed_at=None)


def clean_up(house: House) -> None:
    """As every night; the cache has forgotten long before."""
    command = [sys.executable, str(ROOT / "manage.py"), "sweep_idempotency", "--only", "retention"]
    subprocess.run(command, env=os.environ | house.stack.environment, check=True, timeout=60)
    cache.clear()
