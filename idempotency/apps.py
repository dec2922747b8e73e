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
            check_aliases,
            check_awaited,
            check_cache_policy,
            check_caches,
            check_client,
            check_databases,
            check_gates,
            check_inheritance,
            check_isolation,
            check_limits,
            check_models,
            check_observing,
            check_placement,
            check_principals,
            check_servers,
            check_settings,
            check_slots,
            check_throttles,
        )

        checks.register(check_settings)
        checks.register(check_awaited)
        checks.register(check_limits)
        checks.register(check_aliases)
        checks.register(check_isolation, checks.Tags.database)
        checks.register(check_placement)
        checks.register(check_inheritance)
        checks.register(check_principals)
        checks.register(check_throttles)
        checks.register(check_caches, checks.Tags.caches)
        checks.register(check_cache_policy, deploy=True)
        checks.register(check_client)
        checks.register(check_servers)
        checks.register(check_gates)
        checks.register(check_slots, checks.Tags.database)
        checks.register(check_observing, deploy=True)
        checks.register(check_models, checks.Tags.models)
        checks.register(check_databases, checks.Tags.database)
