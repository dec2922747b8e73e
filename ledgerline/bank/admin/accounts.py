"""Accounts. Lists are masked; the full number stands on the account's own page only."""

from django.contrib import admin
from django.utils.safestring import SafeString

from ledgerline.bank.admin import facts, filters
from ledgerline.bank.admin.freezing import Freezable
from ledgerline.bank.models import Account
from ledgerline.bank.money import masked

_FROZEN = facts.moment("frozen_at", "frozen", missing="no")
_OPENED = facts.moment("opened_at", "opened")
_KIND = facts.text("kind", "kind")


@admin.register(Account)
class Accounts(Freezable):
    """What a customer has, what of it is held, and whether it is frozen."""

    list_display = ["masked_number", _KIND, "purpose", "whose", "balance_now", "held_now", _FROZEN]
    list_filter = ["kind", "currency", filters.Frozen]
    list_select_related = ["owner"]
    search_fields = ["=number", "owner__username"]
    search_help_text = "The whole account number, or a part of the owner's user name"
    empty = "No account fits what you chose."
    ordering = ["pk"]
    page = [
        "full_number", "whose", _KIND, "purpose", "currency", "balance_now", "held_now",
        "available_now", "moves", _FROZEN, "freezes", _OPENED,
    ]  # fmt: skip

    @admin.display(description="number", ordering="number")
    def masked_number(self, account: Account) -> str:
        return masked(account.number)

    @admin.display(description="number")
    def full_number(self, account: Account) -> str:
        return account.number

    @admin.display(description="name", ordering="name")
    def purpose(self, account: Account) -> str:
        if account.kind == Account.Kind.INTERNAL and account.name in Account.Role.values:
            return f"{account.name}: {Account.Role(account.name).label}"
        return account.name or "none"

    @admin.display(description="owner", ordering="owner__username")
    def whose(self, account: Account) -> SafeString | str:
        owner = account.owner
        return facts.link("bank_user", owner, owner) if owner else "the bank"

    @admin.display(description="balance", ordering="balance")
    def balance_now(self, account: Account) -> SafeString | str:
        return _money(account.balance, account.currency)

    @admin.display(description="held", ordering="held")
    def held_now(self, account: Account) -> SafeString | str:
        return _money(account.held, account.currency)

    @admin.display(description="available")
    def available_now(self, account: Account) -> SafeString | str:
        return _money(None if account.balance is None else account.available, account.currency)

    @admin.display(description="what moved")
    def moves(self, account: Account) -> SafeString:
        return facts.rows("bank_entry", "its entries", account=account.pk)

    def title_of(self, row: Account) -> str:
        return f"Account {row}"


def _money(amount: int | None, currency: str) -> SafeString | str:
    return "not kept" if amount is None else facts.shown(amount, currency)
