"""The `fulfilment` app."""

from django.apps import AppConfig


class FulfilmentConfig(AppConfig):
    name = "fulfilment"
    verbose_name = "Fulfilment"

    def ready(self) -> None:
        from fulfilment import checks  # noqa: F401  # they register themselves
