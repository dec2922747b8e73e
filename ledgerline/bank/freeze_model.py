"""Who stopped whose money, and let it move again: the journal behind `frozen_at`."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class FreezeChange(models.Model):
    """One freeze or release of an account or of a customer. Append-only (trigger)."""

    account = models.ForeignKey(
        "bank.Account", on_delete=models.PROTECT, null=True, related_name="freeze_changes"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        related_name="freeze_changes",
    )
    frozen = models.BooleanField(help_text="frozen by this change; else released")
    actor = models.CharField(max_length=150)
    reason = models.TextField()
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "bank_freeze_change"
        default_permissions = ()
        permissions = [
            ("freeze", "Can freeze an account or a customer"),
            ("release_frozen", "Can release a frozen account or customer"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(account=None, user__isnull=False) | Q(account__isnull=False, user=None),
                name="bank_freeze_change_of_one_subject",
            ),
            models.CheckConstraint(
                condition=~Q(actor="") & ~Q(reason=""), name="bank_freeze_change_says_who_and_why"
            ),
        ]

    def __str__(self) -> str:
        return f"freeze change {self.pk}"
