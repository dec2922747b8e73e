"""The books in Django's admin: to be read. Nothing here can be changed, by superusers neither."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from ledgerline.bank.models import Account, Entry, Hold, Payment, Posting, Transfer, User
from ledgerline.bank.money import masked, written
from ledgerline.bank.staff import Freezable

if TYPE_CHECKING:  # generic to the type checker only
    Page = admin.ModelAdmin[Any]
    Rows = admin.TabularInline[Any, Any]
else:
    Page, Rows = admin.ModelAdmin, admin.TabularInline


class ReadOnly:
    """Permission to view may be given; to add, change or delete may not, to nobody."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(User)
class Users(ReadOnly, Freezable):
    """Customers and staff. Passwords are changed by their owners, at /admin/password_change/."""

    list_display = ["username", "is_staff", "is_active", "frozen_at", "date_joined"]
    list_filter = ["is_staff", "is_active", ("frozen_at", admin.EmptyFieldListFilter)]
    search_fields = ["username"]
    fields = [
        "id",
        "username",
        "first_name",
        "last_name",
        "email",
        "is_staff",
        "is_active",
        "is_superuser",
        "groups",
        "frozen_at",
        "freezes",
        "date_joined",
        "last_login",
    ]
    readonly_fields = ["freezes"]


@admin.register(Account)
class Accounts(ReadOnly, Freezable):
    """Lists are masked; the full number stands on the account's own page only."""

    list_display = [
        "masked_number",
        "kind",
        "name",
        "owner",
        "balance_now",
        "held_now",
        "frozen_at",
    ]
    list_filter = ["kind", "currency", ("frozen_at", admin.EmptyFieldListFilter)]
    list_select_related = ["owner"]
    search_fields = ["=number", "owner__username"]
    ordering = ["pk"]
    fields = [
        "number",
        "owner",
        "kind",
        "name",
        "currency",
        "balance_now",
        "held_now",
        "available_now",
        "frozen_at",
        "freezes",
        "opened_at",
    ]
    readonly_fields = ["balance_now", "held_now", "available_now", "freezes"]

    @admin.display(description="number", ordering="number")
    def masked_number(self, account: Account) -> str:
        return masked(account.number)

    @admin.display(description="balance", ordering="balance", empty_value="not kept")
    def balance_now(self, account: Account) -> str | None:
        return _money(account.balance, account.currency)

    @admin.display(description="held", ordering="held", empty_value="not kept")
    def held_now(self, account: Account) -> str | None:
        return _money(account.held, account.currency)

    @admin.display(description="available", empty_value="not kept")
    def available_now(self, account: Account) -> str | None:
        return _money(None if account.balance is None else account.available, account.currency)


@admin.register(Transfer)
class Transfers(ReadOnly, Page):
    """The key itself is the customer's and is not shown; `reference` finds the transfer."""

    list_display = ["id", "created_at", "user", "sum", "to_bank", "payee", "state"]
    list_filter = ["state", "currency", ("to_bank", admin.EmptyFieldListFilter)]
    list_select_related = ["user"]
    search_fields = ["=id", "=reference", "user__username"]
    date_hierarchy = "created_at"
    ordering = ["-created_at"]
    fields = [
        "id",
        "reference",
        "user",
        "from_account",
        "payee",
        "to_bank",
        "sum",
        "narration",
        "state",
        "created_at",
        "decided_at",
        "reversed_at",
    ]
    readonly_fields = ["payee", "sum"]

    @admin.display(description="to account")
    def payee(self, transfer: Transfer) -> str:
        return masked(transfer.to_account)

    @admin.display(description="amount", ordering="amount")
    def sum(self, transfer: Transfer) -> str:
        return written(transfer.amount, transfer.currency)


@admin.register(Payment)
class Payments(ReadOnly, Page):
    """What customers paid for at a checkout; `refund due` waits for somebody who returns money."""

    list_display = ["id", "created_at", "user", "sum", "masked_phone", "state"]
    list_filter = ["state", "currency"]
    list_select_related = ["user"]
    search_fields = ["=id", "=reference", "=checkout_id", "user__username"]
    date_hierarchy = "created_at"
    ordering = ["-created_at"]
    fields = [
        "id",
        "reference",
        "user",
        "sum",
        "masked_phone",
        "narration",
        "state",
        "checkout_id",
        "created_at",
        "paid_at",
        "fulfilled_at",
        "refund_due_at",
    ]
    readonly_fields = ["sum", "masked_phone"]

    @admin.display(description="phone")
    def masked_phone(self, payment: Payment) -> str:
        return masked(payment.phone)

    @admin.display(description="amount", ordering="amount")
    def sum(self, payment: Payment) -> str:
        return written(payment.amount, payment.currency)


class Entries(ReadOnly, Rows):
    """The shares of a posting."""

    model = Entry
    fields = ["account", "sum"]
    readonly_fields = ["sum"]
    extra = 0

    @admin.display(description="amount")
    def sum(self, entry: Entry) -> str:
        return written(entry.amount, entry.currency)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Entry]:
        return super().get_queryset(request).select_related("account")


@admin.register(Posting)
class Postings(ReadOnly, Page):
    """The journal."""

    list_display = ["id", "posted_at", "kind", "transfer", "payment", "description"]
    list_filter = ["kind"]
    list_select_related = ["transfer", "payment"]
    search_fields = ["=id", "=transfer__reference", "=payment__reference"]
    date_hierarchy = "posted_at"
    ordering = ["-id"]
    inlines = [Entries]


@admin.register(Hold)
class Holds(ReadOnly, Page):
    """Money set aside while an outcome is unknown."""

    list_display = ["id", "placed_at", "account", "sum", "transfer", "state", "closed_at"]
    list_filter = ["state", "account__currency"]
    list_select_related = ["account", "transfer"]
    search_fields = ["=transfer__reference"]
    ordering = ["-id"]
    fields = ["account", "transfer", "sum", "state", "placed_at", "closed_at"]
    readonly_fields = ["sum"]

    @admin.display(description="amount", ordering="amount")
    def sum(self, hold: Hold) -> str:
        return written(hold.amount, hold.account.currency)


def _money(amount: int | None, currency: str) -> str | None:
    return None if amount is None else written(amount, currency)
