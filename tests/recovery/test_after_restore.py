"""A backup is restored and the command is run: the provider's own books say that nothing was paid twice."""

import time
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.core.management import call_command

from fulfilment.connectors.base import Done
from fulfilment.dispatch import attempt, poll
from fulfilment.dispatch.claim import claim
from fulfilment.models import Fulfilment
from fulfilment.reconcile import lookups
from idempotency import tokens
from idempotency.errors import Transient
from idempotency.tokens.errors import TokenUnknown
from ledgerline.bank.models import Account, Transfer
from tests.connectors.sandbox import Sandbox, paid, sandbox, until  # noqa: F401
from tests.integration.bank.conftest import ada, bola  # noqa: F401
from tests.integration.bank.outside import EXTERNAL, row_of
from tests.integration.bank.phone import B0, Phone
from tests.integration.fulfilment.conftest import QUICK, books  # noqa: F401
from tests.integration.fulfilment.support import due, now, path, start
from tests.recovery import backup

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]

SHORT = {
    "LEASE": timedelta(seconds=0.9),
    "TOTAL_DEADLINE": timedelta(seconds=0.5),
    "MARGIN": timedelta(seconds=0.1),
    "EVENT_HINT": None,
}


@pytest.fixture(autouse=True)
def world(settings: Any, sandbox: Sandbox, books: Any) -> Iterator[None]:  # noqa: F811
    connector = sandbox.settings(VISIBLE_AFTER=timedelta(0), NOT_FOUND_FINAL_AFTER=timedelta(0))
    settings.FULFILMENT = QUICK | SHORT | {"CONNECTORS": {"sandbox": connector}}
    cache.clear()
    yield
    cache.clear()


def outside() -> Fulfilment:
    return start(connector="sandbox")


def posts(sandbox: Sandbox, row: Fulfilment) -> int:  # noqa: F811
    return len([call for call in sandbox.calls(row.reference) if call["method"] == "POST"])


def work(rows: list[Fulfilment]) -> None:
    """What workers and beat do, until every row is decided."""

    def decided() -> bool:
        for pk in poll.due():
            attempt.run(pk)
        waiting = Fulfilment.objects.filter(pk__in=[row.pk for row in rows], decided_at=None)
        for row in waiting.filter(state="needs_reconciliation"):
            due(row)
        lookups.look_up_due()
        time.sleep(0.1)
        return not waiting.exists()

    until(decided, what="every payment to be decided", seconds=20)


def test_what_was_open_in_the_backup_is_asked_about_and_sent_once(sandbox: Sandbox) -> None:  # noqa: F811
    canary, waited, claimed, unsent = outside(), outside(), outside(), outside()
    attempt.run(canary.pk)
    assert claim(claimed.pk, worker="worker:of the lost days")
    with backup.taken() as restored:
        attempt.run(waited.pk)
        sandbox.connector().send(attempt._instruction(claimed, deadline=timedelta(seconds=10)))
        assert paid(sandbox) == 3
        restored()
        assert [now(row).state for row in (waited, claimed)] == ["pending", "dispatching"]
        call_command("after_restore", "--yes")
        for row in (waited, claimed, unsent):
            attempt.run(row.pk)
            assert now(row).state == "needs_reconciliation"
        rows = [waited, claimed, unsent]
        work(rows)
        assert [now(row).state for row in rows] == ["fulfilled"] * 3
        assert [posts(sandbox, row) for row in rows] == [1, 1, 1], (
            "something that had been paid in the lost days was sent again"
        )
        assert path(unsent) == [
            "pending", "needs_reconciliation", "pending", "dispatching", "fulfilled"
        ], "what nobody had sent was not sent after it was asked about"  # fmt: skip
        assert paid(sandbox) == 4
        assert now(canary).version == canary.version + 2, "a decided payment was touched"


def test_an_answer_of_the_lost_days_is_never_taken_for_one_about_another_payment(
    sandbox: Sandbox,  # noqa: F811
) -> None:
    """A worker is in mid-call while the database fails over; the row's number is given away again."""
    with backup.taken() as restored:
        lost = outside()
        in_hand = claim(lost.pk, worker="worker:of the lost days")
        assert in_hand is not None
        restored()
        other = outside()
        assert (other.pk, other.reference != lost.reference) == (lost.pk, True)
        answer = Done(amount=other.amount, currency=other.currency, provider_id="pay_1")
        assert attempt.settle(in_hand, answer) is None
        assert now(other).state == "pending", "somebody else's payment was taken for this one"
        assert not other.evidence.exists()


def test_a_payment_whose_rows_are_gone_gets_the_same_reference_from_the_same_key(
    settings: Any,
    sandbox: Sandbox,  # noqa: F811
    ada: Account,  # noqa: F811
) -> None:
    phone, key = Phone(ada), str(uuid4())
    with backup.taken() as restored:
        first = phone.pay(EXTERNAL, key=key)
        row = row_of(first["Location"])
        attempt.run(row.pk)
        assert phone.pay(EXTERNAL, key=key).status_code == 201, "it is cached from here on"
        restored()
        call_command("after_restore", "--yes")
        retry = phone.pay(EXTERNAL, key=key)
        assert (retry.status_code, Transfer.objects.count()) == (202, 1), (
            "the cache told of a payment that is not on record any more"
        )
        again = row_of(retry["Location"])
        assert again.reference == row.reference
        work([again])
        assert now(again).state == "fulfilled"
        assert (paid(sandbox), len(sandbox.payments(row.reference))) == (1, 1)


def test_an_answer_of_the_lost_days_is_not_replayed(ada: Account, bola: Account) -> None:  # noqa: F811
    phone, key = Phone(ada), str(uuid4())
    with backup.taken() as restored:
        assert phone.pay(B0, key=key).status_code == 201
        assert phone.pay(B0, key=key)["Idempotent-Replayed"] == "true"
        restored()
        assert phone.pay(B0, key=key)["Idempotent-Replayed"] == "true", "nothing was cached"
        call_command("after_restore", "--yes")
        answer = phone.pay(B0, key=key)
        assert (answer.status_code, Transfer.objects.count()) == (201, 1)
        assert "Idempotent-Replayed" not in answer


def test_a_token_of_the_lost_days_is_not_spent_again(ada: Account) -> None:  # noqa: F811
    asked = SimpleNamespace(user=ada.owner)
    token = tokens.issue(asked, purpose="transfer", bound={"amount": 1}).token
    with backup.taken() as restored:
        spend(token, ada, reference="first")
        restored()
        call_command("after_restore", "--yes")
        with pytest.raises(TokenUnknown):
            spend(token, ada, reference="first")
        with pytest.raises((TokenUnknown, Transient)):
            spend(token, ada, reference="second")


def spend(token: str, account: Account, *, reference: str) -> None:
    from idempotency import claims

    scope = claims.scope(SimpleNamespace(user=account.owner))
    claimed = SimpleNamespace(scope=scope, reference=reference)
    tokens.spend(token, claim=claimed, purpose="transfer", bound={"amount": 1})
