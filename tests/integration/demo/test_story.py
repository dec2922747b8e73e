"""The running story speaks of transfers by the reference that the client was given."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from psycopg.conninfo import make_conninfo

import fulfilment
from fulfilment import store, transitions
from fulfilment.models import CaseReason, Fulfilment
from fulfilment.reconcile import casebook
from fulfilment.states import State
from ledgerline.bank.models import Account, Posting, Transfer
from ledgerline.bank.posting import Leg, post
from ledgerline.demo import seed
from ledgerline.demo.story import AT_ONCE, Story

pytestmark = pytest.mark.django_db(transaction=True)
Order = Callable[..., Transfer]


@pytest.fixture
def story() -> Iterator[Story]:
    given = connection.get_connection_params()
    names = ("dbname", "user", "password", "host", "port")
    story = Story(make_conninfo(**{name: given.get(name) for name in names}))
    story.news()
    yield story
    story.close()


@pytest.fixture
def order(settings: Any) -> Order:
    settings.FULFILMENT = settings.FULFILMENT | {"HINT": None}
    seed.run()
    payer = Account.objects.get(number=seed.CUSTOMERS["ada"])

    def order(number: int, **given: Any) -> Transfer:
        reference = f"{number:08x}" + "0" * 24
        return Transfer.objects.create(
            reference=reference,
            user=payer.owner,
            idempotency_key=reference,
            request_hash="f" * 64,
            from_account=payer,
            to_account=seed.CUSTOMERS["bola"],
            amount=500,
            currency="NGN",
            **given,
        )

    return order


def paid_here(order: Order, number: int) -> None:
    with transaction.atomic():
        transfer = order(number, state="fulfilled", decided_at=store.now())
        payee = Account.objects.get(number=transfer.to_account)
        legs = (Leg(transfer.from_account, -500), Leg(payee, 500))
        post(*legs, kind=Posting.Kind.TRANSFER, transfer=transfer)


def unknown(order: Order, number: int) -> Fulfilment:
    with transaction.atomic():
        payment = f"transfer:{order(number, state='pending', to_bank='058').reference}"
        row = fulfilment.start(
            kind="transfer",
            event_id=payment,
            payment_id=payment,
            connector="sandbox",
            amount=500,
            currency="NGN",
            instruction={},
            actor="api:ada",
        )
        to, why = State.NEEDS_RECONCILIATION, "nobody knows yet"
        moved = transitions.move(row, to=to, actor="w", reason=why, next_check_at=store.now())
        assert moved
        return moved


def test_an_external_transfer_is_named_as_its_client_knows_it(story: Story, order: Order) -> None:
    row = unknown(order, 0xABCD1234)
    (line,) = story.news()
    assert line.startswith("transfer abcd1234... is unknown"), line
    assert row.reference[:8] not in line, "nobody outside knows the provider's reference"


def test_a_transfer_between_our_accounts_is_told(story: Story, order: Order) -> None:
    paid_here(order, 0xABCD1234)
    assert story.news() == ["transfer abcd1234... is on the account ending 6789"]
    assert story.news() == [], "told twice"


def test_many_transfers_neither_flood_the_terminal_nor_hide_a_case(
    story: Story, order: Order
) -> None:
    for number in range(AT_ONCE * 2):
        paid_here(order, number)
    row = unknown(order, 0xABCD1234)
    casebook.open_case(row, reason=CaseReason.DEADLINE, actor="resolver")
    lines = story.news()
    assert len(lines) == AT_ONCE + 1
    assert "is unknown" in lines[0]
    assert "opened (deadline)" in lines[1]
    assert lines[-1] == f"... and {AT_ONCE + 2} more."
