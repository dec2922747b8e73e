"""Customers and staff. Passwords are changed by their owners, at /admin/password_change/."""

from django.contrib import admin
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from ledgerline.bank.admin import facts, filters
from ledgerline.bank.admin.freezing import Freezable
from ledgerline.bank.models import User

_FROZEN = facts.moment("frozen_at", "frozen", missing="no")
_JOINED = facts.moment("date_joined", "customer or staff since")
_STAFF = facts.text("is_staff", "staff: may come in here")
_ACTIVE = facts.text("is_active", "active: may sign in")
_ALL = facts.text("is_superuser", "superuser: holds every permission")
_LOGIN = facts.moment("last_login", "last login here", missing="never")


@admin.register(User)
class Users(Freezable):
    """Who they are, whether their money is frozen, and the ways to all that is theirs."""

    list_display = ["username", "first_name", "last_name", _STAFF, _ACTIVE, _FROZEN, _JOINED]
    list_filter = ["is_staff", "is_active", filters.Frozen]
    search_fields = ["username", "first_name", "last_name"]
    search_help_text = "A part of the user name, the first name or the last name"
    empty = "No user fits what you chose."
    ordering = ["username"]
    page = [
        "who", "name", "theirs", _FROZEN, "freezes", _STAFF, _ACTIVE, _ALL, "roles", _JOINED, _LOGIN,
        "identity",
    ]  # fmt: skip

    @admin.display(description="user name")
    def who(self, user: User) -> str:
        return user.get_username()

    @admin.display(description="name and email")
    def name(self, user: User) -> str:
        return ", ".join(part for part in (user.get_full_name(), user.email) if part) or "none"

    @admin.display(description="groups")
    def roles(self, user: User) -> str:
        return ", ".join(group.name for group in user.groups.all()) or "none"

    @admin.display(description="id")
    def identity(self, user: User) -> SafeString:
        return SafeString(f"<code>{user.pk}</code>")

    @admin.display(description="all that is theirs")
    def theirs(self, user: User) -> SafeString:
        lists = (
            facts.rows("bank_account", "accounts", owner=user.pk),
            facts.rows("bank_transfer", "transfers", user=user.pk),
            facts.rows("bank_payment", "airtime payments", user=user.pk),
            facts.rows("bank_usageevent", "usage events", user=user.pk),
            facts.rows("idempotency_keylisting", "idempotency keys", q=user.pk),
        )
        return format_html_join(", ", "{}", ((found,) for found in lists))

    def title_of(self, row: User) -> str:
        return f"User {row.get_username()}"
