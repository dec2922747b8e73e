"""Signs of life and tallies: what a scrape, a health check and a page ask for."""

from django.db import models


class Pulse(models.Model):
    """When something last happened, and how often so far. One row per name, kept for ever.

    Of the rounds (`sweep`, `look_up`, `apply`, `dispatch`), of `beat`, and of what is rare and
    telling (`late_success`, `found_after_not_found`, `conflict`). No row: it never happened.
    """

    name = models.CharField(max_length=64, primary_key=True)
    at = models.DateTimeField()
    count = models.BigIntegerField(default=1)

    class Meta:
        db_table = "fulfilment_pulse"

    def __str__(self) -> str:
        return f"{self.name}: {self.count}"
