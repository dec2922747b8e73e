"""One fact of a row as people read it: times with zone and age, money with its currency, links."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment.admin.money import money
from fulfilment.admin.words import Badge
from idempotency.times import when
from ledgerline.bank.money import masked

Fact = Callable[[Any], Any]


def moment(field: str, label: str, *, missing: str = "not yet") -> Fact:
    """A time of the row."""

    def fact(row: Any) -> SafeString:
        at: datetime | None = getattr(row, field)
        return when(at, now=timezone.now(), missing=missing)

    return _named(fact, field, label, ordering=field)


def text(field: str, label: str, *, missing: str = "none") -> Fact:
    """A text of the row, a choice in its words, or a yes or no in words."""

    def fact(row: Any) -> str:
        value = getattr(row, f"get_{field}_display", lambda: getattr(row, field))()
        if isinstance(value, bool):
            return "yes" if value else "no"
        return str(value) if value not in (None, "") else missing

    return _named(fact, field, label, ordering=field)


def code(field: str, label: str) -> Fact:
    """An id of the row, in one piece."""

    def fact(row: Any) -> SafeString:
        return format_html("<code>{}</code>", getattr(row, field))

    return _named(fact, field, label, ordering=field)


def state(words: Mapping[Any, Badge], label: str = "state") -> Fact:
    """The row's state in a word, its colour repeating it."""

    def fact(row: Any) -> SafeString:
        known = words[row.state]
        return format_html('<span class="badge {}">{}</span>', known.tone, known.text)

    return _named(fact, "state", label, ordering="state")


@admin.display(description="amount", ordering="amount")
def its_amount(row: Any) -> SafeString:
    """Major units with the currency."""
    return shown(row.amount, row.currency)


def shown(minor: int, currency: str) -> SafeString:
    """An amount that never breaks away from its currency."""
    return format_html('<span class="sum">{}</span>', money(minor, currency))


def payee(number: str, bank: str) -> str:
    """`******0007 at bank 058`, or that the account is one of ours."""
    return f"{masked(number)} at bank {bank}" if bank else f"{masked(number)}, an account of ours"


def link(page: str, row: Any, said: Any) -> SafeString:
    """To the page of another row."""
    return format_html('<a href="{}">{}</a>', reverse(f"admin:{page}_change", args=[row.pk]), said)


def rows(page: str, said: str, **narrowed: Any) -> SafeString:
    """To a list of other rows."""
    address = reverse(f"admin:{page}_changelist", query={k: str(v) for k, v in narrowed.items()})
    return format_html('<a href="{}">{}</a>', address, said)


def _named(fact: Fact, field: str, label: str, *, ordering: str) -> Fact:
    fact.__name__ = f"its_{field}"  # the class of its cell; the bare name would bring a help text
    return admin.display(description=label, ordering=ordering)(fact)
