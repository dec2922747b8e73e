"""The `idempotency` app."""

from django.apps import AppConfig
from django.core import checks


class IdempotencyConfig(AppConfig):
    """Registers the app's system checks."""

    name = "idempotency"
    verbose_name = "Idempotency"

    def ready(self) -> None:
        """Called once by Django when every app is loaded."""
        from idempotency.checks import (
            check_awaited,
            check_client,
            check_gates,
            check_observing,
            check_servers,
            check_settings,
            check_slots,
        )

        checks.register(check_settings)
        checks.register(check_awaited)
        checks.register(check_client)
        checks.register(check_servers)
        checks.register(check_gates)
        checks.register(check_slots, checks.Tags.database)
        checks.register(check_observing, deploy=True)
