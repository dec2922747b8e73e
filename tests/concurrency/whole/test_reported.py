"""What the provider reports to the service as a whole: at once, too early, too late (II.1, 24; C077, C084-C090)."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction

import idempotency
from fulfilment.models import Fulfilment, ProviderEvent
from ledgerline.bank.models import Payment, Posting
from tests.concurrency.whole.house import Customer, House, becomes, events, unbalanced
from tests.connectors.sandbox import instruction, until
from tests.integration.bank.outside import EXTERNAL
from tests.recovery.stack import BOUND

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.processes,
    pytest.mark.chaos,
    pytest.mark.timeout(180),
]

AIRTIME = {"amount": 500_00, "currency": "NGN", "phone": "08012345678"}
UNASKED = "sandbox:lookup_outage sandbox:no_webhook"  # only an event of ours tells the outcome
LOST, LATE = f"sandbox:accept_then_reset {UNASKED}", f"sandbox:hang(7) {UNASKED}"

# What POST /v1/payments writes is not committed for five seconds.
HELD_OPEN = """
CREATE FUNCTION whole_held() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_sleep(5);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER whole_held AFTER INSERT ON bank_payment
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION whole_held();
"""


def test_a_payment_that_is_reported_twenty_times_at_once_buys_its_airtime_once(
    house: House, ada: Customer
) -> None:
    told = ada.post("/v1/payments", AIRTIME, key=str(uuid4()))
    assert told.status_code == 201, told.text
    reference = told.json()["reference"]
    press_pay(house, reference)
    [event] = events(reference)
    assert house.provider.deliver(event.dedupe_key, times=20) == [200] * 20
    bought_once(house, reference)


def test_a_payment_that_is_reported_while_our_own_transaction_is_open_waits_for_its_commit(
    house: House, ada: Customer
) -> None:
    key = str(uuid4())
    reference = idempotency.reference_of(ada.account.owner_id, key)
    with commits_held_open(), ThreadPoolExecutor(1) as phone:
        asked = phone.submit(ada.post, "/v1/payments", AIRTIME, key=key)
        press_pay(house, reference)
        [event] = events(reference, status="parked")
        assert not Payment.objects.filter(reference=reference).exists(), "it was committed already"
        assert event.fulfilment_id is None
        assert [d["status"] for d in house.provider.log(reference)] == [200]
        assert asked.result(60).status_code == 201
    bought_once(house, reference)


def test_an_event_that_comes_before_its_payment_is_kept_and_applied_and_another_is_given_up(
    house: House, ada: Customer
) -> None:
    """As after rows were lost: the provider has paid and reports it, and the phone tries again."""
    key, nobody = str(uuid4()), uuid4().hex
    reference = ada.reference(key)
    stray = {"reference": nobody, "amount": 1, "currency": "NGN"}
    assert house.provider.make_event("transfer.succeeded", stray)["status"] == 200
    house.provider.connector().send(as_ordered(reference))
    [event] = events(reference, status="parked")
    assert ada.pay(key).status_code == 202
    assert ada.final(key).status_code == 201
    until(lambda: applied(event), what="the event to be applied", seconds=BOUND)
    assert event.pk in Fulfilment.objects.get(reference=reference).events.values_list(
        "pk", flat=True
    )
    assert len(house.provider.payments(reference)) == 1
    [dead] = events(nobody, status="dead")
    told = [line for line in house.stack.log().splitlines() if "action=event_dead" in line]
    lines = [line for line in told if f"event={dead.pk} " in f"{line} "]
    assert len(lines) == 1, "one alert, and one only"
    assert " ERROR " in lines[0]


def test_an_event_that_met_a_lock_is_applied_once_when_it_is_free(
    house: House, ada: Customer
) -> None:
    key = str(uuid4())
    reference = unknown(ada, key, narration=LOST)
    with transaction.atomic():
        Fulfilment.objects.select_for_update().get(reference=reference)
        made = reported(house, reference)
        [event] = events(reference, status="parked")
        assert event.applied_at is None, "taken for applied although nothing was done"
        assert house.provider.deliver(made["id"]) == [200]
    settled_once(house, ada, key, reference)


def test_a_success_that_is_reported_after_we_gave_up_waiting_settles_it(
    house: House, ada: Customer
) -> None:
    """The answer itself comes when nobody listens any more."""
    key = str(uuid4())
    reference = unknown(ada, key, narration=LATE)
    attempt = Fulfilment.objects.get(reference=reference).attempts.get()
    assert attempt.outcome == "unknown"
    reported(house, reference)
    settled_once(house, ada, key, reference)


# --- the scene -------------------------------------------------------------------------------------


def press_pay(house: House, reference: str) -> None:
    """The customer pays at the provider's page, as soon as the checkout is open there."""
    booked = house.provider.payments
    until(lambda: booked(reference), what="a checkout to be open", seconds=BOUND)
    house.provider.request("POST", f"/checkouts/{booked(reference)[0]['id']}/pay?format=json")


def bought_once(house: House, reference: str) -> None:
    """One event, one start, one top-up in the provider's books, and our books balance."""
    paid = Payment.objects.filter(reference=reference, state="fulfilled")
    until(paid.exists, what="the airtime to be bought", seconds=BOUND)
    assert ProviderEvent.objects.filter(reference=reference).count() == 1
    [row] = Fulfilment.objects.filter(payment_id=f"payment:{reference}")
    [top_up] = house.provider.payments(row.reference)
    assert (top_up["kind"], top_up["amount"]) == ("airtime", 500_00)
    assert unbalanced() == []


@contextmanager
def commits_held_open() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(HELD_OPEN)
        yield
        cursor.execute("DROP FUNCTION whole_held CASCADE")


def as_ordered(reference: str) -> Any:
    """What our service asks the provider for, for the order that `Customer.pay` gives."""
    return instruction(reference, account=EXTERNAL["toAccount"], narration=EXTERNAL["narration"])


def applied(event: ProviderEvent) -> bool:
    return ProviderEvent.objects.filter(pk=event.pk, status="applied").exists()


def unknown(payer: Customer, key: str, **changes: Any) -> str:
    """A transfer that was paid and of which nobody told us; its reference."""
    assert payer.pay(key, **changes).status_code == 202
    reference = payer.reference(key)
    becomes(reference, "needs_reconciliation")
    return reference


def reported(house: House, reference: str) -> dict[str, Any]:
    """The provider reports what it has in its books; it was taken when this returns."""
    [booked] = house.provider.payments(reference)
    data = {name: booked[name] for name in ("id", "reference", "amount", "currency")}
    made = house.provider.make_event("transfer.succeeded", data)
    assert made["status"] == 200, made
    return made


def settled_once(house: House, payer: Customer, key: str, reference: str) -> None:
    """By one event, said once, posted once, paid once; and the phone learns it."""
    row = becomes(reference, "fulfilled")
    assert row.evidence.filter(source="webhook").count() == 1, "one event said it more than once"
    assert row.attempts.count() == 1
    [event] = row.events.all()
    until(lambda: applied(event), what="the event to be applied", seconds=BOUND)
    narration = row.instruction["narration"]
    told = payer.final(key, narration=narration)
    assert (told.status_code, told.json()["state"]) == (201, "fulfilled")
    assert Posting.objects.filter(transfer=told.json()["id"]).count() == 1
    calls = [c["method"] for c in house.provider.calls(reference)]
    assert (len(house.provider.payments(reference)), calls.count("POST")) == (1, 1)
    assert unbalanced() == []
