"""A mailbox: messages are kept once, and one that cannot be kept does not hide those behind it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fulfilment.connectors.iso20022 import letters
from fulfilment.connectors.iso20022.letters import Letter
from fulfilment.models import ProviderEvent
from fulfilment.webhooks import mailbox
from fulfilment.webhooks.event import Event
from tests.integration.fulfilment.support import InMemory

pytestmark = pytest.mark.django_db(transaction=True)

IBAN = "NL41MOCK0000000001"
_GOOD = b"<Document><CstmrPmtStsRpt/></Document>"


class Box:
    """The bank's messages as the real mailbox reads them, from a list instead of a call."""

    def __init__(self, waiting: list[Letter]) -> None:
        self._waiting = waiting

    def letters(self) -> Sequence[Letter]:
        return self._waiting

    def events(self, letter: Letter) -> Sequence[bytes]:
        return letters.events_of(letter, iban=IBAN)

    def read(self, raw_body: bytes) -> Event:
        return letters.read(raw_body)


class Silent(InMemory):
    """Sends nothing by itself."""

    webhooks = None

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self.mailbox = Box(settings["WAITING"])


@pytest.fixture
def waiting(settings: Any, provider: Any) -> list[Letter]:
    box: list[Letter] = []
    given = {"CLASS": Silent, "PROVIDER": provider, "WAITING": box}
    settings.FULFILMENT = settings.FULFILMENT | {
        "CONNECTORS": {"bank": given},
        "WEBHOOKS": {"bank": {"CONNECTOR": "bank"}},
    }
    return box


def _kept() -> list[str]:
    return sorted(ProviderEvent.objects.values_list("dedupe_key", flat=True))


def test_a_message_that_is_met_again_is_kept_once(waiting: list[Letter]) -> None:
    waiting.append(Letter(name="m/1", kind="pain.002.001.10", body=_GOOD))
    assert [mailbox.fetch("bank"), mailbox.fetch("bank")] == [1, 0]
    assert _kept() == ["m/1/0"]


def test_a_message_that_cannot_be_kept_does_not_hide_those_behind_it(
    waiting: list[Letter], caplog: pytest.LogCaptureFixture
) -> None:
    waiting.append(Letter(name="m/1", kind="not\nprintable", body=_GOOD))
    waiting.append(Letter(name="m/2", kind="pain.002.001.10", body=_GOOD))
    assert mailbox.fetch("bank") == 1
    assert _kept() == ["m/2/0"], "one odd message kept the mailbox shut for all that follow"
    [told] = [r for r in caplog.records if getattr(r, "action", "") == "message_refused"]
    assert told.event == "m/1"  # type: ignore[attr-defined]
