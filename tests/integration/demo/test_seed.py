"""The demo's cast: the same people each time, money by double entry, rights as they must be."""

import pytest
from django.contrib.auth import authenticate
from django.db.models import Sum

from ledgerline import tokens
from ledgerline.bank.models import Account, Entry, Posting, User
from ledgerline.demo import seed

pytestmark = pytest.mark.django_db


def test_seeding_twice_adds_nobody_and_no_money() -> None:
    first, again = seed.run(), seed.run()
    assert User.objects.count() == len(seed.CUSTOMERS) + len(seed.STAFF)
    assert Posting.objects.count() == len(seed.CUSTOMERS), "money was given twice"
    accounts = [{n: u["account"] for n, u in s["users"].items()} for s in (first, again)]
    assert accounts[0] == accounts[1] == seed.CUSTOMERS


def test_the_money_comes_from_somewhere() -> None:
    seed.run()
    assert Entry.objects.aggregate(total=Sum("amount"))["total"] == 0
    assert Account.objects.get(number="0123456789").available == seed.OPENING


def test_tokens_speak_for_their_customers() -> None:
    seeded = seed.run()
    ada = User.objects.get(username="ada")
    assert tokens.read(seeded["users"]["ada"]["token"]).pk == ada.pk


def test_staff_get_a_fresh_password_at_each_start() -> None:
    first, again = seed.run(), seed.run()
    old, new = (s["staff"]["senior"]["password"] for s in (first, again))
    assert authenticate(username="senior", password=new)
    assert not authenticate(username="senior", password=old), "an old password still opens"


def test_two_may_decide_so_that_one_can_approve_and_the_agent_may_not() -> None:
    seed.run()
    agent, senior, lead = (User.objects.get(username=n) for n in ("agent", "senior", "lead"))
    for verdict in ("resolve_fulfilled", "resolve_failed", "correct_failed"):
        assert senior.has_perm(f"fulfilment.{verdict}")
        assert lead.has_perm(f"fulfilment.{verdict}")
        assert not agent.has_perm(f"fulfilment.{verdict}"), f"the agent has {verdict}"
    for user in (agent, senior, lead):
        assert user.has_perm("fulfilment.cancel_pending")
        assert user.has_perm("fulfilment.ask_provider")
        assert user.has_perm("fulfilment.view_reconciliation")
        assert not user.is_superuser
    assert not authenticate(username="ada", password="")
