"""What a payment pays for: airtime. From the provider's event to the books.

paid        settlement -> payable    the provider has the money, the customer nothing yet
fulfilled   payable    -> sales      the airtime is on the phone
taken back  sales      -> payable    it is not, and the customer is owed the money
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from django.conf import settings
from django.db.models.functions import Now

import fulfilment as fulfilments
from ledgerline.bank import accounts, errors
from ledgerline.bank.models import Account, Payment, Posting
from ledgerline.bank.posting import Leg, post

if TYPE_CHECKING:
    from fulfilment.models import Evidence, Fulfilment

KIND = "airtime"

Role = Account.Role
State = Payment.State


class PaidEvent(Protocol):
    """What the bank reads of the provider's event `payment.succeeded`."""

    @property
    def reference(self) -> str | None: ...
    @property
    def amount(self) -> int | None: ...
    @property
    def currency(self) -> str: ...


def register() -> None:
    """Called once, when the app is ready: the outcomes of airtime, and the event that starts it."""
    handlers = fulfilments.Handlers(
        on_fulfilled=on_fulfilled, on_failed=on_failed, on_reversed=on_reversed
    )
    fulfilments.register(KIND, handlers)
    fulfilments.route("payment.succeeded", payment_paid)


def payment_paid(event: PaidEvent) -> Mapping[str, Any] | None:
    """Book the money and say which airtime it starts: the arguments of `fulfilment.start`.

    Runs in the event's transaction; again, for another event of the payment, it books nothing.
    None: the payment is not known (yet). Raises `PaymentMismatch` for another sum than was asked.
    """
    rows = Payment.objects.select_for_update(no_key=True)
    payment = rows.filter(reference=event.reference or "").first()
    if payment is None:
        return None
    if (event.amount, event.currency) != (payment.amount, payment.currency):
        raise errors.PaymentMismatch(f"{payment} is over another sum than the event")
    if _moved(payment, State.PAID, before=[State.OPEN], at="paid_at"):
        _book(payment, Role.SETTLEMENT, Role.PAYABLE, kind=Posting.Kind.COLLECTION)
    narration = {"narration": payment.narration} if payment.narration else {}
    return {
        "kind": KIND,
        "payment_id": payment_id(payment.reference),
        "connector": settings.AIRTIME_CONNECTOR,
        "amount": payment.amount,
        "currency": payment.currency,
        "instruction": {"phone": payment.phone} | narration,
    }


def payment_id(reference: str) -> str:
    """The name of the airtime that a payment of this reference pays for."""
    return f"{_PREFIX}{reference}"


def on_fulfilled(fulfilment: "Fulfilment", evidence: "Evidence") -> None:
    """The airtime is on the phone: what was owed to the customer is earned.

    Raises `CorrectionDue` where a refund is due already: that is undone by a person.
    """
    payment = _locked(fulfilment)
    if payment.state == State.REFUND_DUE:
        raise errors.CorrectionDue(f"{payment} is to be refunded, and its airtime was delivered")
    _require(_moved(payment, State.FULFILLED, before=[State.PAID], at="fulfilled_at"), payment)
    _book(payment, Role.PAYABLE, Role.SALES, kind=Posting.Kind.SALE)


def on_failed(fulfilment: "Fulfilment", evidence: "Evidence") -> None:
    """No airtime, and the money is here: it stays owed to the customer until a person returns it."""
    payment = _locked(fulfilment)
    _require(_moved(payment, State.REFUND_DUE, before=[State.PAID], at="refund_due_at"), payment)


def on_reversed(fulfilment: "Fulfilment", evidence: "Evidence") -> None:
    """The airtime was taken back: the money is owed to the customer again."""
    payment = _locked(fulfilment)
    moved = _moved(payment, State.REFUND_DUE, before=[State.FULFILLED], at="refund_due_at")
    _require(moved, payment)
    _book(payment, Role.SALES, Role.PAYABLE, kind=Posting.Kind.REVERSAL)


def _locked(fulfilment: "Fulfilment") -> Payment:
    rows = Payment.objects.select_for_update(no_key=True)
    return rows.get(reference=fulfilment.payment_id.removeprefix(_PREFIX))


def _moved(payment: Payment, state: Payment.State, *, before: list[Payment.State], at: str) -> int:
    rows = Payment.objects.filter(pk=payment.pk, state__in=before)
    return rows.update(state=state, **{at: Now()})


def _require(moved: int, payment: Payment) -> None:
    if not moved:
        raise errors.BooksRefused(f"{payment} is {payment.state}: this outcome does not fit")


def _book(payment: Payment, source: Role, target: Role, *, kind: Posting.Kind) -> None:
    """Between accounts of the bank's own: a freeze stops no fact, and no balance can be missing."""
    giver, receiver = (
        accounts.internal(role, currency=payment.currency) for role in (source, target)
    )
    post(
        Leg(giver, -payment.amount),
        Leg(receiver, payment.amount),
        kind=kind,
        payment=payment,
        fact=True,
    )


_PREFIX = "payment:"
