"""A customer's payment to the bank at a checkout of its payment provider, for airtime."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Payment(models.Model):
    """Money that the provider collects for us, and what it pays for. Kept for ever.

    `reference` names the checkout at the provider and answers a retry after the key is gone.
    """

    class State(models.TextChoices):
        OPEN = "open", "open"  # -> paid: the provider's event
        PAID = "paid", "paid"  # -> fulfilled, refund_due: the outcome of the airtime
        FULFILLED = "fulfilled", "fulfilled"  # -> refund_due: the airtime was taken back
        REFUND_DUE = "refund_due", "refund due"  # paid and not delivered: a person gives it back

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    reference = models.CharField(max_length=32, unique=True, help_text="H(scope, key)")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="payments"
    )
    request_hash = models.CharField(max_length=64, help_text="SHA-256 of the request, hex")
    amount = models.BigIntegerField(help_text="minor units")
    currency = models.CharField(max_length=3)
    phone = models.CharField(max_length=16, help_text="gets the airtime")
    narration = models.CharField(max_length=140, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    checkout_id = models.CharField(max_length=128, help_text="the provider's name for it")
    checkout_url = models.CharField(max_length=2000, help_text="where the customer pays")
    created_at = models.DateTimeField(db_default=Now())
    paid_at = models.DateTimeField(null=True)
    fulfilled_at = models.DateTimeField(null=True)
    refund_due_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "bank_payment"
        verbose_name = "airtime payment"  # on screens a payment is what we pay out
        constraints = [
            models.CheckConstraint(
                condition=Q(reference__regex=r"^[0-9a-f]{32}$"), name="bank_payment_reference_hex"
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="bank_payment_amount_positive"),
            models.CheckConstraint(
                condition=~Q(checkout_id="") & ~Q(checkout_url=""),
                name="bank_payment_has_its_checkout",
            ),
            models.CheckConstraint(
                condition=Q(state="open", paid_at=None, fulfilled_at=None, refund_due_at=None)
                | Q(state="paid", paid_at__isnull=False, fulfilled_at=None, refund_due_at=None)
                | Q(
                    state="fulfilled",
                    paid_at__isnull=False,
                    fulfilled_at__isnull=False,
                    refund_due_at=None,
                )
                | Q(state="refund_due", paid_at__isnull=False, refund_due_at__isnull=False),
                name="bank_payment_times_of_its_state",
            ),
        ]

    def __str__(self) -> str:
        return f"payment {self.id}"
