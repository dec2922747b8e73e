"""The ten lines that connect their ledger: what starts a payout, and what its outcome does."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.apps import AppConfig

from fulfilment import Event, Handlers, register, route

if TYPE_CHECKING:
    from fulfilment.models import Fulfilment


class ShopConfig(AppConfig):
    name = "shop"

    def ready(self) -> None:
        register(
            "payout",
            Handlers(
                on_fulfilled=lambda done, _: end(done, "paid out"),
                on_failed=lambda failed, _: end(failed, "given up"),
                on_reversed=lambda back, _: end(back, "taken back"),
            ),
        )
        route("payment.succeeded", payout_of)


def payout_of(event: Event) -> Mapping[str, Any] | None:
    """Somebody paid an invoice: its owner gets the money. An unknown invoice may come yet."""
    from shop.models import Invoice

    invoice = Invoice.objects.filter(number=event.reference).first()
    if invoice is None:
        return None
    return {
        "kind": "payout",
        "payment_id": f"invoice:{invoice.number}",
        "connector": "bank",
        "amount": invoice.amount,
        "currency": "EUR",
        "instruction": {"to": str(invoice.owner_id)},
    }


def end(fulfilment: "Fulfilment", state: str) -> None:
    from shop.models import Invoice

    number = fulfilment.payment_id.removeprefix("invoice:")
    Invoice.objects.filter(number=number).update(state=state)
