"""What `manage.py check` says of connectors whose promises cannot be right."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fulfilment.connectors.checks import promises_hold
from ledgerline import settings as service
from tests.integration.fulfilment.support import PROMISES, InMemory, Provider

SOUND = replace(PROMISES, visible_after=timedelta(seconds=1), not_found_final_after=timedelta(1))


def said(settings: Any, provider: Provider, name: str = "memory", **webhooks: Any) -> list[str]:
    given = {"CLASS": InMemory, "PROVIDER": provider}
    settings.FULFILMENT = {"CONNECTORS": {name: given}, "WEBHOOKS": webhooks}
    return [f"{message.id} {message.msg}" for message in promises_hold(None)]


def test_the_service_declares_nothing_odd(settings: Any) -> None:
    settings.FULFILMENT = service.FULFILMENT
    assert promises_hold(None) == []


def test_sound_promises_are_not_talked_about(settings: Any, provider: Provider) -> None:
    provider.capabilities = SOUND
    assert said(settings, provider) == []


def test_a_provider_that_nobody_can_hear_is_told_of(settings: Any, provider: Provider) -> None:
    provider.capabilities = replace(SOUND, lookup_by_reference=False, not_found_final_after=None)
    [warning] = said(settings, provider)
    assert warning.startswith("fulfilment.W071 FULFILMENT['CONNECTORS']['memory']: it can be asked")


def test_promises_below_nothing_are_refused(settings: Any, provider: Provider) -> None:
    provider.capabilities = replace(SOUND, visible_after=timedelta(-1))
    [error] = said(settings, provider)
    assert error.startswith("fulfilment.E026")
    assert "visible_after" in error


@pytest.mark.parametrize("name", ["", "x" * 33, "a\nb"])
def test_a_name_that_no_row_can_hold_is_refused(
    settings: Any, provider: Provider, name: str
) -> None:
    provider.capabilities = SOUND
    [error] = said(settings, provider, name)
    assert error.startswith("fulfilment.E025")
