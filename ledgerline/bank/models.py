"""The bank's books: who owns what, what moved, what is held.

Constraints and triggers of the database enforce the rules; see `migrations/0002_guards.py`.
"""

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from ledgerline.bank.freeze_model import FreezeChange
from ledgerline.bank.money import masked
from ledgerline.bank.payment_model import Payment
from ledgerline.bank.usage_model import UsageEvent

__all__ = [
    "Account",
    "Entry",
    "FreezeChange",
    "Hold",
    "Payment",
    "Posting",
    "Transfer",
    "UsageEvent",
    "User",
]

_TEN_DIGITS = r"^[0-9]{10}$"


class User(AbstractUser):
    """A customer or a member of staff. The id is the scope of the idempotency keys."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    frozen_at = models.DateTimeField(null=True, blank=True, help_text="no money leaves while set")

    class Meta(AbstractUser.Meta):
        db_table = "bank_user"


class Account(models.Model):
    """A customer's account, or one of the bank's own.

    `balance` and `held` of a customer are kept by triggers from entries and holds; nothing else
    may write them. Internal accounts have neither: one settlement row would serialise everything.
    """

    class Kind(models.TextChoices):
        CUSTOMER = "customer", "customer"
        INTERNAL = "internal", "internal"

    class Role(models.TextChoices):
        """What an internal account is for; its `name`."""

        SETTLEMENT = "settlement", "money on its way to or from other banks"
        SUSPENSE = "suspense", "corrections that no longer fit where they belong"
        FUNDING = "funding", "where opening balances come from"
        PAYABLE = "payable", "what customers have paid for and not got yet"
        SALES = "sales", "what was sold and delivered"

    number = models.CharField(max_length=10, unique=True)
    owner = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="accounts"
    )
    kind = models.CharField(max_length=8, choices=Kind)
    name = models.CharField(max_length=64, blank=True, help_text="the role, if internal")
    currency = models.CharField(max_length=3)
    balance = models.BigIntegerField(null=True, help_text="minor units; NULL if internal")
    held = models.BigIntegerField(null=True, help_text="minor units; NULL if internal")
    frozen_at = models.DateTimeField(null=True, blank=True, help_text="no money moves while set")
    opened_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "bank_account"
        constraints = [
            models.CheckConstraint(
                condition=Q(number__regex=_TEN_DIGITS), name="bank_account_number_ten_digits"
            ),
            models.CheckConstraint(
                condition=Q(currency__regex=r"^[A-Z]{3}$"), name="bank_account_currency_written"
            ),
            models.CheckConstraint(
                condition=Q(
                    kind="customer", owner__isnull=False, balance__isnull=False, held__isnull=False
                )
                | Q(kind="internal", owner__isnull=True, balance__isnull=True, held__isnull=True),
                name="bank_account_columns_of_its_kind",
            ),
            models.CheckConstraint(
                condition=Q(balance__gte=F("held")), name="bank_account_available_not_negative"
            ),
            models.CheckConstraint(condition=Q(held__gte=0), name="bank_account_held_not_negative"),
            models.UniqueConstraint(
                fields=["name", "currency"],
                condition=Q(kind="internal"),
                name="bank_account_one_internal_per_currency",
            ),
            # the target of the entries' foreign key, so that an entry cannot change the currency
            models.UniqueConstraint(fields=["id", "currency"], name="bank_account_id_and_currency"),
        ]

    def __str__(self) -> str:
        return self.name if self.kind == self.Kind.INTERNAL else masked(self.number)

    @property
    def available(self) -> int:
        """What a customer can spend, in minor units: the balance without what is held."""
        return (self.balance or 0) - (self.held or 0)


class Transfer(models.Model):
    """A customer's order to pay, kept for ever; `reference` answers a retry after the key is gone."""

    class State(models.TextChoices):
        PENDING = "pending", "pending"  # -> fulfilled, failed, cancelled
        FULFILLED = "fulfilled", "fulfilled"  # -> reversed
        FAILED = "failed", "failed"  # -> fulfilled: late truth
        CANCELLED = "cancelled", "cancelled"  # final: nothing was ever sent
        REVERSED = "reversed", "reversed"  # final: the money came back later

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    reference = models.CharField(max_length=32, unique=True, help_text="H(scope, key)")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="transfers")
    idempotency_key = models.CharField(max_length=255)
    request_hash = models.CharField(max_length=64, help_text="SHA-256 of the request, hex")
    from_account = models.ForeignKey(
        Account, on_delete=models.PROTECT, related_name="transfers_sent"
    )
    to_account = models.CharField(max_length=34)
    to_bank = models.CharField(max_length=11, blank=True, help_text="empty: an account of ours")
    amount = models.BigIntegerField(help_text="minor units")
    currency = models.CharField(max_length=3)
    narration = models.CharField(max_length=140, blank=True)
    state = models.CharField(max_length=9, choices=State)
    created_at = models.DateTimeField(db_default=Now())
    decided_at = models.DateTimeField(null=True)
    reversed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "bank_transfer"
        constraints = [
            models.CheckConstraint(
                condition=Q(reference__regex=r"^[0-9a-f]{32}$"), name="bank_transfer_reference_hex"
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="bank_transfer_amount_positive"),
            models.CheckConstraint(
                condition=Q(state="pending", decided_at__isnull=True)
                | Q(state__in=["fulfilled", "failed", "cancelled"], decided_at__isnull=False)
                | Q(state="reversed", decided_at__isnull=False, reversed_at__isnull=False),
                name="bank_transfer_times_of_its_state",
            ),
            models.CheckConstraint(
                condition=Q(state="reversed") | Q(reversed_at__isnull=True),
                name="bank_transfer_reversed_at_when_reversed",
            ),
            models.CheckConstraint(
                condition=~Q(to_bank="") | Q(state="fulfilled"),
                name="bank_transfer_on_us_is_fulfilled",
            ),
        ]
        indexes = [
            # a customer's list, newest first, page by page
            models.Index(fields=["user", "-created_at", "-id"], name="bank_transfer_of_user"),
        ]

    def __str__(self) -> str:
        return f"transfer {self.id}"


class Posting(models.Model):
    """One movement of the books: entries that sum to zero per currency. Append-only (trigger)."""

    class Kind(models.TextChoices):
        FUNDING = "funding", "funding"
        TRANSFER = "transfer", "transfer between accounts of ours"
        CAPTURE = "capture", "held money paid out"
        REVERSAL = "reversal", "money given back"
        CORRECTION = "correction", "correction"
        COLLECTION = "collection", "money that a provider collected for us"
        SALE = "sale", "what was paid for is delivered"
        PAID_TWICE = "paid_twice", "paid out a second time"

    kind = models.CharField(max_length=10, choices=Kind)
    transfer = models.ForeignKey(
        Transfer, on_delete=models.PROTECT, null=True, related_name="postings"
    )
    payment = models.ForeignKey(
        Payment, on_delete=models.PROTECT, null=True, related_name="postings"
    )
    description = models.CharField(max_length=255, blank=True)
    reference = models.CharField(
        max_length=32,
        blank=True,
        db_default="",
        default="",
        help_text="of what was paid twice: under which of the payment's references",
    )
    posted_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "bank_posting"
        constraints = [
            # The books' own answer to a verdict that is applied twice. Of three references of one
            # payment that were all paid, two are paid twice, and each of those verdicts is posted.
            models.UniqueConstraint(
                fields=["transfer", "kind", "reference"],
                condition=Q(transfer__isnull=False),
                name="bank_posting_one_per_transfer_and_kind",
            ),
            models.CheckConstraint(
                condition=Q(kind="paid_twice") | Q(reference=""),
                name="bank_posting_reference_of_paid_twice",
            ),
            models.UniqueConstraint(
                fields=["payment", "kind"],
                condition=Q(payment__isnull=False),
                name="bank_posting_one_per_payment_and_kind",
            ),
        ]

    def __str__(self) -> str:
        return f"posting {self.pk}"


class Entry(models.Model):
    """One account's share of a posting. Append-only (trigger)."""

    posting = models.ForeignKey(Posting, on_delete=models.PROTECT, related_name="entries")
    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="entries")
    amount = models.BigIntegerField(help_text="minor units; positive: the account received it")
    currency = models.CharField(max_length=3)

    class Meta:
        db_table = "bank_entry"
        verbose_name_plural = "entries"
        constraints = [
            models.CheckConstraint(condition=~Q(amount=0), name="bank_entry_amount_not_zero"),
        ]
        indexes = [
            # an account's statement, newest first, page by page
            models.Index(fields=["account", "-id"], name="bank_entry_of_account"),
        ]

    def __str__(self) -> str:
        return f"entry {self.pk}"


class Hold(models.Model):
    """Money that its owner cannot spend while an outcome is unknown. Changes once: it closes."""

    class State(models.TextChoices):
        OPEN = "open", "open"  # -> captured, released
        CAPTURED = "captured", "captured"
        RELEASED = "released", "released"

    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="holds")
    transfer = models.ForeignKey(Transfer, on_delete=models.PROTECT, related_name="holds")
    amount = models.BigIntegerField(help_text="minor units")
    state = models.CharField(max_length=8, choices=State, default=State.OPEN)
    placed_at = models.DateTimeField(db_default=Now())
    closed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "bank_hold"
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="bank_hold_amount_positive"),
            models.CheckConstraint(
                condition=Q(state="open", closed_at__isnull=True)
                | Q(state__in=["captured", "released"], closed_at__isnull=False),
                name="bank_hold_times_of_its_state",
            ),
            models.UniqueConstraint(
                fields=["transfer"],
                condition=Q(state="open"),
                name="bank_hold_one_open_per_transfer",
            ),
        ]

    def __str__(self) -> str:
        return f"hold {self.pk}"
