"""The `fulfilment` app."""

from django.apps import AppConfig


class FulfilmentConfig(AppConfig):
    name = "fulfilment"
    verbose_name = "Fulfilment"

    # `idempotency.W001`: two NULLs may be two rows here, and this is why.
    nulls_allowed = {
        "fulfilment.ProviderEvent.evidence": "most events are not, or not yet, evidence of anything",
    }

    def ready(self) -> None:
        from fulfilment import checks  # noqa: F401  # they register themselves
