"""What all processes know together of one connector: when it may be asked next, and whether it answers."""

from django.db import models
from django.db.models import Q


class ConnectorStanding(models.Model):
    """One row per connector that was ever asked. No row: it may be asked, and never failed."""

    name = models.CharField(max_length=64, primary_key=True)
    free_at = models.DateTimeField(null=True, help_text="when the next look-up has its turn")
    failures = models.PositiveIntegerField(default=0, help_text="calls in a row without an answer")
    open_until = models.DateTimeField(
        null=True, help_text="nobody calls before; then one caller tries"
    )

    class Meta:
        db_table = "fulfilment_connector"
        constraints = [
            models.CheckConstraint(
                condition=Q(open_until__isnull=True) | Q(failures__gt=0),
                name="fulfilment_connector_open_after_failures",
            ),
        ]

    def __str__(self) -> str:
        return self.name
