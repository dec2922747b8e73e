"""A bank that decides and says nothing (II.20)."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fulfilment.connectors.base import Capabilities
from fulfilment.connectors.iso20022.connector import Iso20022Connector
from tests.connectors.iso20022.payments import NAME, Town, until
from tests.integration.fulfilment.support import now

pytestmark = [pytest.mark.processes, pytest.mark.long]


class Mute(Iso20022Connector):
    """Nobody may ask this bank."""

    @property
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities, lookup_by_reference=False)


def test_what_a_silent_bank_has_paid_is_found_by_asking(own_town: Town) -> None:
    own_town.bank.behave("silent")
    row = own_town.sent()
    assert row.state == "needs_reconciliation", "accepted was taken for paid"
    own_town.settled(row)
    own_town.paid_once(row)
    reports = [m for m in own_town.bank.ask("GET", "/_mock/mailbox?leave") if "002" in m["type"]]
    assert not reports, "the bank reported it, so nothing is proved"


def test_a_silent_bank_that_cannot_be_asked_is_a_case_in_time_and_its_mailbox_ends_it(
    own_town: Town, settings: Any
) -> None:
    own_town.bank.behave("silent")
    own_town.reached()
    _mute(settings)
    row = own_town.sent()
    seen = []
    until(lambda: seen.append(now(row)) or row.cases.exists(), what="a person to be asked")
    assert row.cases.get().reason in {"deadline", "cannot_ask"}
    for _ in range(3):
        until(lambda: seen.append(now(row)) or True, what="a round")
    assert {each.state for each in seen} == {"needs_reconciliation"}, "somebody guessed"
    assert all(each.next_check_at for each in seen), "nobody will ever look at it again"
    assert row.attempts.count() == 1
    own_town.reached(mailbox=True)
    _mute(settings)
    own_town.settled(row)
    own_town.paid_once(row)
    assert row.cases.get().closed_at, "the case stayed open over what settled it"


def _mute(settings: Any) -> None:
    given = settings.FULFILMENT
    own = given["CONNECTORS"][NAME] | {"CLASS": Mute}
    patience = {"CASE_DEADLINE": timedelta(seconds=1)}
    settings.FULFILMENT = given | {"CONNECTORS": {NAME: own}} | patience
