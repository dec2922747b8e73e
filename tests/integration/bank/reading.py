"""What there is to read in the books: one of each, all of it ada's."""

from django.utils import timezone

from ledgerline.bank import payments
from ledgerline.bank.models import Account, UsageEvent
from ledgerline.bank.transfers import Order, make
from tests.integration.bank.conftest import Claim
from tests.integration.bank.desk import Opened

PHONE = "+2348012345678"


def one_of_each(ada: Account) -> None:
    make(
        Order(to_account="2233445566", to_bank="058", amount=700, currency="NGN"),
        claim=Claim(ada.owner_id),
    )
    payments.record(
        payments.Order(amount=700, currency="NGN", phone=PHONE),
        Opened("chk_1", "https://pay.example/chk_1", 700, "NGN", b""),
        claim=Claim(ada.owner_id),
    )
    UsageEvent.objects.create(
        user_id=ada.owner_id,
        event_id="evt_1",
        type="sms",
        quantity=3,
        occurred_at=timezone.now(),
        metadata={"note": "<b>bold</b>"},
    )
