"""Who did what to which key or action, and why: rows are added, and stay as they are."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class AuditEntry(models.Model):
    """One thing that a person did by hand. A trigger refuses every change; `trail.note` writes."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now(), help_text="by the database's clock")
    actor = models.TextField(help_text="staff:<user name>, or what else acted")
    action = models.TextField(help_text="in the past tense: settled, released, body_opened, …")
    subject = models.TextField(help_text="key:<user>:<key> or action:<slot>")
    reason = models.TextField(blank=True, db_default="")
    details = models.JSONField(blank=True, default=dict, help_text="names and short texts")

    class Meta:
        db_table = "idempotency_audit"
        default_permissions = ("view",)
        verbose_name = "audit entry"
        verbose_name_plural = "audit trail"
        constraints = [
            models.CheckConstraint(
                condition=~Q(actor="") & ~Q(action="") & ~Q(subject=""),
                name="idempotency_audit_says_who_and_what",
            ),
        ]
        indexes = [
            models.Index(fields=["subject", "id"], name="idempotency_audit_subject"),
            models.Index(fields=["at"], name="idempotency_audit_at"),
        ]

    def __str__(self) -> str:
        return f"{self.action} by {self.actor}"
