"""The journal: postings and their entries, and the money that is set aside."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ledgerline.bank.admin import facts, filters, words
from ledgerline.bank.admin.readonly import Shown
from ledgerline.bank.models import Entry, Hold, Payment, Posting, Transfer

_POSTED = facts.moment("posted_at", "posted")
_KIND = facts.text("kind", "kind")


@admin.display(description="account", ordering="account")
def its_account(row: Any) -> SafeString:
    """Masked; its page has the number."""
    return facts.link("bank_account", row.account, row.account)


@admin.register(Posting)
class Postings(Shown):
    """The journal."""

    list_display = ["id", _POSTED, _KIND, "moved", "about"]
    list_filter = ["kind"]
    list_select_related = ["transfer", "payment"]
    search_fields = ["=id", "=transfer__reference", "=payment__reference"]
    search_help_text = "The posting's number, or our reference of the transfer or payment"
    empty = "No posting fits what you chose."
    date_hierarchy = "posted_at"
    ordering = ["-id"]
    page = [_KIND, "moved", "about", facts.text("description", "note"), _POSTED]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Posting]:
        return super().get_queryset(request).prefetch_related("entries__account")

    @admin.display(description="what moved")
    def moved(self, posting: Posting) -> SafeString:
        lines = (
            (facts.shown(entry.amount, entry.currency), its_account(entry))
            for entry in posting.entries.all()
        )
        return format_html_join(SafeString("<br>"), "{} {}", lines)

    @admin.display(description="for")
    def about(self, posting: Posting) -> SafeString | str:
        return _order(posting.transfer or posting.payment)


@admin.register(Entry)
class Entries(Shown):
    """An account's statement, newest first, where it is narrowed to one account."""

    list_display = ["id", its_account, facts.its_amount, "posted", "what", "about"]
    list_select_related = ["account", "posting__transfer", "posting__payment"]
    search_fields = ["=account__number"]
    search_help_text = "The whole number of an account"
    empty = "No entry fits what you chose."
    ordering = ["-id"]
    page = [its_account, facts.its_amount, "posted", "what", "about"]

    @admin.display(description="posted")
    def posted(self, entry: Entry) -> Any:
        return _POSTED(entry.posting)

    @admin.display(description="posting")
    def what(self, entry: Entry) -> SafeString:
        return facts.link("bank_posting", entry.posting, entry.posting.get_kind_display())

    @admin.display(description="for")
    def about(self, entry: Entry) -> SafeString | str:
        return _order(entry.posting.transfer or entry.posting.payment)


@admin.register(Hold)
class Holds(Shown):
    """Money set aside while an outcome is open or unknown."""

    list_display = [
        "id", facts.state(words.HOLDS), "sum", its_account, "about",
        facts.moment("placed_at", "held since"), facts.moment("closed_at", "ended"),
    ]  # fmt: skip
    list_filter = [filters.by_state(words.HOLDS), "account__currency"]
    list_select_related = ["account", "transfer"]
    search_fields = ["=transfer__reference"]
    search_help_text = "Our reference of the transfer"
    empty = "No hold fits what you chose."
    ordering = ["-id"]
    page = list_display[1:]

    @admin.display(description="amount", ordering="amount")
    def sum(self, hold: Hold) -> SafeString:
        return facts.shown(hold.amount, hold.account.currency)

    @admin.display(description="for")
    def about(self, hold: Hold) -> SafeString | str:
        return _order(hold.transfer)


def _order(order: Transfer | Payment | None) -> SafeString | str:
    """What it was booked for, in words, leading there."""
    if isinstance(order, Transfer):
        said = f"transfer to {facts.payee(order.to_account, order.to_bank)}"
        return facts.link("bank_transfer", order, said)
    if order is not None:
        said = format_html("airtime payment of {}", facts.shown(order.amount, order.currency))
        return facts.link("bank_payment", order, said)
    return "no order of a customer"
