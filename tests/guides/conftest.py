"""The shop of the guides, installed from the very files that the pages show."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection
from django.test import override_settings
from django.urls import clear_url_caches

SAMPLES = Path(__file__).parents[2] / "templates/guides/samples"


def shop(module: str) -> ModuleType:
    return import_module(f"shop.{module}")


@pytest.fixture(scope="module")
def installed() -> Iterator[None]:
    """The shop in INSTALLED_APPS, under its own addresses."""
    from django.conf import settings

    sys.path.insert(0, str(SAMPLES))
    wanted = import_module("shop.settings")
    try:
        with override_settings(
            INSTALLED_APPS=[*settings.INSTALLED_APPS, "shop"],
            ROOT_URLCONF="shop.urls",
            IDEMPOTENCY=wanted.IDEMPOTENCY,
            CONFIRM_ABOVE={},  # a wish of the service that the shop does not have
            MIDDLEWARE=wanted.MIDDLEWARE,
        ):
            order, its_admin = shop("models").Order, shop("admin").OrderAdmin
            if not admin.site.is_registered(order):  # imported by an earlier module of tests
                admin.site.register(order, its_admin)
            yield
    finally:
        admin.site.unregister(order)
        clear_url_caches()
        sys.path.remove(str(SAMPLES))


@pytest.fixture(scope="module")
def tables(
    installed: None, django_db_setup: None, django_db_blocker: pytest.FixtureRequest
) -> Iterator[None]:
    """Its tables, for as long as its tests run."""
    models = list(apps.get_app_config("shop").get_models())
    with django_db_blocker.unblock():
        with connection.schema_editor() as editor:
            for model in models:
                editor.create_model(model)
        yield
        with connection.schema_editor() as editor:
            for model in reversed(models):
                editor.delete_model(model)
