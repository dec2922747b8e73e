"""The `fulfilment` app."""

from django.apps import AppConfig


class FulfilmentConfig(AppConfig):
    name = "fulfilment"
    verbose_name = "Fulfilment"
