"""Which single-use tokens are spent. Kept for ever: PostgreSQL decides, whatever Redis remembers."""

from django.db import models
from django.db.models import Q


class ConsumedToken(models.Model):
    """One token that was used, and by which key. Append-only (trigger), never cleaned up.

    A snapshot of Redis that comes back, however old, brings its tokens back as unused.
    """

    digest = models.TextField(primary_key=True, db_collation="C", help_text="SHA-256, hex")
    user_id = models.UUIDField(help_text="the scope: whose token it was")
    purpose = models.TextField()
    reference = models.TextField(help_text="of the key that used it")
    consumed_at = models.DateTimeField()

    class Meta:
        db_table = "consumed_token"
        default_permissions = ()
        constraints = [
            models.CheckConstraint(
                condition=Q(digest__regex=r"^[0-9a-f]{64}$"), name="consumed_token_digest_hex"
            ),
            models.CheckConstraint(
                condition=~Q(purpose="") & ~Q(reference=""), name="consumed_token_says_what_for"
            ),
        ]

    def __str__(self) -> str:
        return f"a token for {self.purpose} of {self.user_id}"
