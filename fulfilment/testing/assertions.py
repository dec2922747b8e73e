"""What must be so, whatever went wrong; each says what it means where it is not."""

from collections import Counter
from collections.abc import Iterable

from fulfilment.models import Fulfilment
from fulfilment.states import FREES_THE_PAYMENT, OPEN, State
from fulfilment.testing.provider import FakeProvider, Payment, reference_of


def assert_paid_once(provider: FakeProvider, subject: str | Fulfilment) -> Payment:
    """The provider's own books have this reference exactly once, and it was not given back.

    Returns the payment. Raises AssertionError with what the provider was sent instead.
    """
    reference = reference_of(subject)
    payments = provider.payments(reference)
    if not payments:
        raise AssertionError(f"nothing was paid under {reference}: {_orders(provider, reference)}")
    if len(payments) > 1:
        raise AssertionError(
            f"paid {len(payments)} times under {reference}: it was sent again, and "
            f"{provider.name} does not know its references (any more). {_orders(provider, reference)}"
        )
    if payments[0].given_back:
        raise AssertionError(f"paid once under {reference}, and given back afterwards")
    return payments[0]


def assert_nothing_paid(provider: FakeProvider, subject: str | Fulfilment | None = None) -> None:
    """The provider's own books have nothing: of this reference, or at all."""
    reference = None if subject is None else reference_of(subject)
    payments = provider.payments(reference)
    if payments:
        names = ", ".join(payment.reference for payment in payments)
        raise AssertionError(f"{provider.name} has paid {len(payments)} times: {names}")


def assert_books_agree(provider: FakeProvider) -> None:
    """Both sides tell the same of every payment: none lost, none made twice, no verdict wrong.

    Where nobody knows yet, anything up to one payment agrees. Raises AssertionError with every
    difference.
    """
    rows = Fulfilment.objects.filter(connector=provider.name).order_by("pk")
    wrong = [why for row in rows for why in _differences(row, provider.payments(row.reference))]
    wrong += _twice(provider, rows)
    known = {row.reference for row in rows}
    foreign = [p.reference for p in provider.payments() if p.reference not in known]
    wrong += [f"{reference} was paid, and no fulfilment has it" for reference in foreign]
    if wrong:
        raise AssertionError("the books do not agree: " + "; ".join(wrong))


def _differences(row: Fulfilment, payments: list[Payment]) -> Iterable[str]:
    kept = [payment for payment in payments if not payment.given_back]
    name = f"{row.reference} is {row.state}"
    if len(payments) > 1:
        yield f"{name} and was paid {len(payments)} times"
    if row.state in OPEN:
        return
    if row.state == State.FULFILLED and not kept:
        yield f"{name}, and nothing was paid"
    if row.state in FREES_THE_PAYMENT and kept:
        yield f"{name}, and it was paid"
    if row.state == State.REVERSED and kept:
        yield f"{name}, and it was not given back"
    if row.state == State.FULFILLED:
        yield from (_other(name, row, payment) for payment in kept if _differs(row, payment))


def _differs(row: Fulfilment, payment: Payment) -> bool:
    return (row.amount, row.currency) != (payment.amount, payment.currency)


def _other(name: str, row: Fulfilment, payment: Payment) -> str:
    paid, wanted = f"{payment.amount} {payment.currency}", f"{row.amount} {row.currency}"
    return f"{name}, and {paid} was paid instead of {wanted} (minor units)"


def _twice(provider: FakeProvider, rows: Iterable[Fulfilment]) -> list[str]:
    """Generations of a payment have references of their own, and at most one may be paid."""
    of = {row.reference: row.payment_id for row in rows}
    paid = {p.reference for p in provider.payments() if not p.given_back}
    counts = Counter(of[reference] for reference in paid if reference in of)
    return [f"{name} was paid under {n} references" for name, n in counts.items() if n > 1]


def _orders(provider: FakeProvider, reference: str) -> str:
    said = [call.said for call in provider.calls(reference) if call.kind == "send"]
    if not said:
        return "It was never sent. Is it due, and was dispatch_now() called?"
    return f"It was sent {len(said)} times, and the answers were {', '.join(said)}."
