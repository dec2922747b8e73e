"""The service itself, as an app: commands, templates, checks."""

from django.apps import AppConfig


class LedgerlineConfig(AppConfig):
    name = "ledgerline"
    verbose_name = "Ledgerline"

    def ready(self) -> None:
        from ledgerline import checks, problems  # noqa: F401  # both register themselves
