"""A customer who asks too often is told so, and no key is used up by that."""

import pytest
from django.core.cache import caches

from idempotency.throttling import UserRate
from ledgerline.bank.api.transfers import Transfers
from ledgerline.bank.models import Account, Transfer
from tests.integration.bank.phone import Phone


class OneAMinute(UserRate):
    rate = "1/min"


def test_too_many_requests_are_a_problem_that_says_to_wait_with_the_same_key(
    ada: Account, bola: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Transfers, "throttle_classes", [OneAMinute])
    phone = Phone(ada)
    first, refused = phone.pay(key="paid"), phone.pay(key="refused")
    problem = refused.json()
    assert (first.status_code, refused.status_code, problem["code"]) == (201, 429, "throttled")
    assert (problem["retry"], problem["safe_new_key"]) == ("after", False)
    assert 0 < int(refused["Retry-After"]) <= 60
    caches["default"].clear()  # the minute is over
    assert phone.pay(key="refused").status_code == 201
    assert Transfer.objects.count() == 2
