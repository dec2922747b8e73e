"""What a customer used, event by event, as their own systems counted it."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class UsageEvent(models.Model):
    """One counted use. Append-only (trigger); `event_id` is the customer's name for it, used once."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="usage_events"
    )
    event_id = models.CharField(max_length=128, help_text="the customer's own id")
    type = models.CharField(max_length=64)
    quantity = models.BigIntegerField()
    occurred_at = models.DateTimeField(help_text="when it was used, by the customer's clock")
    account = models.ForeignKey(
        "bank.Account",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="usage_events",
        help_text="which account it belongs to, if any",
    )
    metadata = models.JSONField(default=dict, blank=True)
    recorded_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "bank_usage_event"
        constraints = [
            # The gate lets each id through once; this is the books' own answer to a mistake there.
            models.UniqueConstraint(
                fields=["user", "event_id"], name="bank_usage_event_once_per_id"
            ),
            models.CheckConstraint(
                condition=Q(quantity__gte=0), name="bank_usage_event_quantity_not_negative"
            ),
            models.CheckConstraint(
                condition=~Q(event_id="") & ~Q(type=""), name="bank_usage_event_named"
            ),
        ]
        indexes = [
            # a customer's list, newest first, page by page; the same of one type
            models.Index(fields=["user", "-id"], name="bank_usage_event_of_user"),
            models.Index(fields=["user", "type", "-id"], name="bank_usage_event_of_type"),
        ]

    def __str__(self) -> str:
        return f"usage event {self.pk}"
