"""Who sends no keys, in a word; and the roll-out that must not stay for ever."""

from typing import Any

import pytest
from django.core import checks
from django.test import RequestFactory

from idempotency import clients


def named(agent: str) -> str:
    return clients.label_of(RequestFactory().post("/", headers={"User-Agent": agent}))


@pytest.mark.parametrize(
    ("agent", "label"),
    [
        ("BankApp/4.17.2 (iOS 19; ada@example.com) curl/8", "BankApp/4"),
        ("okhttp/5.0.0-alpha", "okhttp/5"),
        ("curl", "curl"),
        ("", "unknown"),
        ("   ", "unknown"),
        ("\x00\x01", "unknown"),
        ("né'w\"{}/1.2", "n_w_/1"),
        ("x" * 1000 + "/1", "x" * 64),
    ],
)
def test_a_client_is_named_by_its_first_product(agent: str, label: str) -> None:
    assert named(agent) == label


def app_of(request: Any) -> str:
    return f"app {request.META['REMOTE_ADDR']}"


def test_an_adopter_may_name_clients(settings: Any) -> None:
    settings.IDEMPOTENCY = {"CLIENT": f"{__name__}.app_of"}
    assert named("x/1") == "app_127.0.0.1"


def test_a_naming_function_that_fails_costs_no_request(settings: Any, caplog: Any) -> None:
    settings.IDEMPOTENCY = {"CLIENT": f"{__name__}.missing"}
    assert named("x/1") == "unknown"
    assert "client not named" in caplog.text


def found(*, deploy: bool) -> dict[str, str]:
    messages = checks.run_checks(include_deployment_checks=deploy)
    return {str(message.id): str(message.hint) for message in messages}


def test_observing_in_production_is_warned_of_with_what_to_look_at(settings: Any) -> None:
    settings.IDEMPOTENCY = {"OBSERVE": True}
    settings.DEBUG = False
    assert "idempotency_key_absent_total" in found(deploy=True)["idempotency.W006"]
    assert "idempotency.W006" not in found(deploy=False)
    settings.DEBUG = True
    assert "idempotency.W006" not in found(deploy=True)


def test_a_naming_function_that_cannot_be_is_refused_at_start(settings: Any) -> None:
    settings.IDEMPOTENCY = {"CLIENT": "no.such.function"}
    assert "short label" in found(deploy=False)["idempotency.E023"]
