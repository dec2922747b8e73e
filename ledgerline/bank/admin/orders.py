"""What customers asked for: transfers, and payments for airtime."""

from typing import Any

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment.admin.money import money
from fulfilment.admin.words import badge
from fulfilment.models import Fulfilment
from ledgerline.bank import airtime, transfers
from ledgerline.bank.admin import facts, filters, words
from ledgerline.bank.admin.readonly import Shown
from ledgerline.bank.models import Payment, Transfer
from ledgerline.bank.money import masked

_ASKED = facts.moment("created_at", "asked for")
_ID = facts.code("id", "id")
_REFERENCE = facts.code("reference", "our reference")
_NOTE = facts.text("narration", "the customer's note")
_FOUND = "The whole id, our reference{}, or a part of the user name"


class Orders(Shown):
    """Each with what is known of it at the provider."""

    list_select_related = ["user"]
    date_hierarchy = "created_at"
    ordering = ["-created_at"]

    @admin.display(description="user", ordering="user__username")
    def whose(self, order: Any) -> SafeString:
        return facts.link("bank_user", order.user, order.user)

    @admin.display(description="postings")
    def booked(self, order: Any) -> SafeString:
        about = self.opts.model_name or ""
        return facts.rows("bank_posting", "what was booked for it", **{about: order.pk})

    @admin.display(description="at the provider")
    def told(self, order: Any) -> SafeString | str:
        """Where it is told what is known, by whom, since when."""
        rows = Fulfilment.objects.filter(payment_id=self.name_at_provider(order))
        found = rows.order_by("-generation").first()
        if found is None:
            return "nothing was sent to a provider"
        known = badge(found.state)
        shown = format_html('<span class="badge {}">{}</span>', known.tone, known.text)
        page = facts.link("fulfilment_fulfilment", found, "what is known, and who said it")
        return format_html("{} {}", shown, page)

    def name_at_provider(self, order: Any) -> str:
        """The identity of the payment that was made of this order."""
        raise NotImplementedError


@admin.register(Transfer)
class Transfers(Orders):
    """The key itself is the customer's and is not shown; `reference` finds the transfer."""

    list_display = [_ID, _ASKED, "whose", facts.its_amount, "to", facts.state(words.TRANSFERS)]
    list_filter = [filters.by_state(words.TRANSFERS), "currency", filters.Whose]
    search_fields = ["=id", "=reference", "user__username"]
    search_help_text = _FOUND.format("")
    empty = "No transfer fits what you chose."
    page = [
        facts.state(words.TRANSFERS), "told", facts.its_amount, "whose", "paid_from", "to", _NOTE, _ASKED,
        facts.moment("decided_at", "decided"), facts.moment("reversed_at", "given back", missing="no"),
        "booked", _ID, _REFERENCE,
    ]  # fmt: skip

    @admin.display(description="to account", ordering="to_account")
    def to(self, transfer: Transfer) -> str:
        return facts.payee(transfer.to_account, transfer.to_bank)

    @admin.display(description="from account")
    def paid_from(self, transfer: Transfer) -> SafeString:
        return facts.link("bank_account", transfer.from_account, transfer.from_account)

    def name_at_provider(self, order: Transfer) -> str:
        return transfers.payment_id(order.reference)

    def title_of(self, row: Transfer) -> str:
        return f"Transfer of {money(row.amount, row.currency)} to {self.to(row)}"


@admin.register(Payment)
class Payments(Orders):
    """What customers paid for at a checkout; `refund due` waits for somebody who returns money."""

    list_display = [_ID, _ASKED, "whose", facts.its_amount, "to", facts.state(words.PAYMENTS)]
    list_filter = [filters.by_state(words.PAYMENTS), "currency"]
    search_fields = ["=id", "=reference", "=checkout_id", "user__username"]
    search_help_text = _FOUND.format(", the provider's id of the checkout")
    empty = "No airtime payment fits what you chose."
    page = [
        facts.state(words.PAYMENTS), "told", facts.its_amount, "whose", "to", _NOTE, _ASKED,
        facts.moment("paid_at", "paid at the checkout", missing="not heard of"),
        facts.moment("fulfilled_at", "airtime delivered"),
        facts.moment("refund_due_at", "refund due since", missing="no"),
        "booked", _ID, _REFERENCE, facts.code("checkout_id", "the provider's id of the checkout"),
    ]  # fmt: skip

    @admin.display(description="airtime for phone")
    def to(self, payment: Payment) -> str:
        return masked(payment.phone)

    def name_at_provider(self, order: Payment) -> str:
        return airtime.payment_id(order.reference)

    def title_of(self, row: Payment) -> str:
        return f"Airtime payment of {money(row.amount, row.currency)} for {self.to(row)}"
