"""Each check that the table of time-outs names refuses the order that the table says."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as project

import fulfilment.checks
import idempotency.checks
import ledgerline.checks
from ledgerline import timeouts
from ledgerline.timeouts import Wait

LONG, SHORT = timedelta(days=365), timedelta(milliseconds=2)
CHECKS: tuple[Callable[..., Any], ...] = (
    ledgerline.checks.timeouts_in_order,
    ledgerline.checks.waiting_leaves_room,
    idempotency.checks.check_settings,
    idempotency.checks.check_limits,
    fulfilment.checks.settings_hold,
)
ORDERED = [wait for _, rows in timeouts.waits() for wait in rows if wait.check]


def found() -> set[str]:
    return {message.id for check in CHECKS for message in check(app_configs=None)}


@pytest.mark.parametrize("wait", ORDERED, ids=lambda wait: wait.setting)
def test_the_named_check_refuses_what_breaks_the_order(wait: Wait, settings: Any) -> None:
    assert wait.check not in found()
    wrong = LONG if wait.rule.startswith("shorter") else SHORT
    name, _, inner = wait.setting.partition("[")
    if inner:
        setattr(settings, name, getattr(project, name) | {inner.strip("']"): wrong})
    else:
        setattr(settings, name, wrong)
        settings.IDEMPOTENCY = project.IDEMPOTENCY | _same(name, wrong)
    assert wait.check in found(), (
        f"{wait.check} is silent, but {wait.setting} has to be {wait.rule}"
    )


def _same(name: str, value: timedelta) -> dict[str, timedelta]:
    """The contract's own name for a time-out of the service, which the settings pass on."""
    own = {"IDLE_IN_TRANSACTION_TIMEOUT": "IDLE_TIMEOUT"}.get(name)
    return {own: value} if own else {}
