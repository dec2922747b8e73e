"""Settings under which anybody could be believed, or nobody, are refused at start."""

from datetime import timedelta
from typing import Any

import pytest

from fulfilment.checks import settings_hold
from tests.integration.fulfilment.support import InMemory
from tests.integration.webhooks.support import SECRET


def ids() -> list[str | None]:
    return [error.id for error in settings_hold(None)]


def test_the_test_settings_hold(settings: Any) -> None:
    assert ids() == []


@pytest.mark.parametrize(
    ("changed", "check"),
    [
        ({"SECRETS": []}, "fulfilment.E007"),
        ({"SECRETS": None}, "fulfilment.E007"),
        ({"SECRETS": ""}, "fulfilment.E007"),
        ({"SECRETS": ["  "]}, "fulfilment.E007"),
        ({"SECRETS": [SECRET, ""]}, "fulfilment.E007"),
        ({"SECRETS": ["whsec_c2hvcnQ="]}, "fulfilment.E007"),
        ({"CONNECTOR": "nobody"}, "fulfilment.E006"),
        ({"CONNECTOR": "deaf"}, "fulfilment.E006"),
        ({"SPEAKS_FOR": ("memory", "nobody")}, "fulfilment.E008"),
        ({"LIVEMODE": None}, "fulfilment.E015"),
        ({"LIVEMODE": "false"}, "fulfilment.E015"),
        ({"LIVE_MODE": False}, "fulfilment.E015"),
        ({"ACCOUNTS": {"acct_1": "memory"}}, "fulfilment.E016"),  # beside SPEAKS_FOR
    ],
    ids=str,
)
def test_an_entry_that_cannot_work_is_refused(settings, changed, check) -> None:
    settings.FULFILMENT["CONNECTORS"]["deaf"] = settings.FULFILMENT["CONNECTORS"]["memory"] | {
        "CLASS": InMemory
    }
    settings.FULFILMENT["WEBHOOKS"]["memory"] |= changed
    assert ids() == [check]


@pytest.mark.parametrize(
    ("accounts", "check"),
    [
        ({}, ["fulfilment.E016"]),
        ({"acct_1": ("memory", "nobody")}, ["fulfilment.E008"]),
        ({"acct_1": "memory", "acct_2": ("airtime", "memory")}, ["fulfilment.E017"]),
        (["acct_1"], ["fulfilment.E006"]),
        ({"acct_1": "memory", "acct_2": "airtime"}, []),
    ],
    ids=str,
)
def test_accounts_under_which_one_could_speak_for_another_are_refused(
    settings, accounts, check
) -> None:
    entry = settings.FULFILMENT["WEBHOOKS"]["memory"]
    del entry["SPEAKS_FOR"]
    entry["ACCOUNTS"] = accounts
    assert ids() == check


def test_a_connector_of_both_modes_is_refused(settings) -> None:
    webhooks = settings.FULFILMENT["WEBHOOKS"]
    webhooks["memory live"] = webhooks["memory"] | {"LIVEMODE": True}
    assert ids() == ["fulfilment.E018"]


def test_an_entry_without_connector_is_refused(settings) -> None:
    del settings.FULFILMENT["WEBHOOKS"]["memory"]["CONNECTOR"]
    assert ids() == ["fulfilment.E006"]


@pytest.mark.parametrize(
    "changed",
    [
        {"PARK_SCHEDULE": ()},
        {"PARK_SCHEDULE": (timedelta(0),)},
        {"DEAD_AFTER": timedelta(0)},
        {"SKEW": timedelta(0)},
        {"CACHE_TTL": timedelta(0)},
    ],
    ids=str,
)
def test_durations_of_nothing_are_refused(settings, changed) -> None:
    settings.FULFILMENT |= changed
    assert ids() == ["fulfilment.E009"]


def test_a_hint_that_leads_nowhere_is_refused(settings) -> None:
    settings.FULFILMENT["EVENT_HINT"] = "nowhere.at.all"
    assert ids() == ["fulfilment.E004"]


def test_one_secret_may_be_written_without_a_list(settings) -> None:
    settings.FULFILMENT["WEBHOOKS"]["memory"]["SECRETS"] = SECRET
    assert ids() == []
