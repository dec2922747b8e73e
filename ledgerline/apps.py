"""The service itself, as an app: commands, templates, checks."""

from django.apps import AppConfig


class LedgerlineConfig(AppConfig):
    name = "ledgerline"
    verbose_name = "Ledgerline"

    def ready(self) -> None:
        from django.contrib import admin

        from idempotency import metrics
        from ledgerline import checks, problems  # noqa: F401  # both register themselves

        metrics.connect()
        admin.site.site_url = None  # there is no other site for staff to view
