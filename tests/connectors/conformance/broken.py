"""Connectors that get one thing wrong each, as connectors do. The suite has to see every one."""

import logging
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from http.client import HTTPException
from typing import Any
from uuid import uuid4

from fulfilment.connectors import http
from fulfilment.connectors.base import (
    Declined,
    Done,
    Instruction,
    LookUp,
    NoInformation,
    NotFound,
    NotSent,
    Outcome,
    Refused,
    Reversed,
    Unknown,
)
from fulfilment.connectors.sandbox import SandboxConnector
from fulfilment.connectors.sandbox.webhooks import SandboxWebhooks
from fulfilment.webhooks.event import Event

log = logging.getLogger(__name__)


class DeclinesWhatTimesOut(SandboxConnector):
    def send(self, instruction: Instruction, /) -> Outcome:
        said = super().send(instruction)
        return Declined(reason="no answer") if isinstance(said, Unknown) else said


class TakesSilenceForNothing(SandboxConnector):
    def send(self, instruction: Instruction, /) -> Outcome:
        said = super().send(instruction)
        return NotSent(reason="no answer") if isinstance(said, Unknown) else said


class TakesAnErrorForARefusal(SandboxConnector):
    def send(self, instruction: Instruction, /) -> Outcome:
        said = super().send(instruction)
        return Refused(reason="HTTP 502") if isinstance(said, Unknown) else said


class FailsWhatIsTurnedAway(SandboxConnector):
    def send(self, instruction: Instruction, /) -> Outcome:
        said = super().send(instruction)
        return Declined(reason="rate limited") if isinstance(said, Refused) else said


class FailsWhatExists(SandboxConnector):
    seen: set[str] = set()

    def send(self, instruction: Instruction, /) -> Outcome:
        if instruction.reference in self.seen:
            return Declined(reason="duplicate reference")
        self.seen.add(instruction.reference)
        return super().send(instruction)


class BelievesThatItGotWhatItWanted(SandboxConnector):
    def send(self, instruction: Instruction, /) -> Outcome:
        said = super().send(instruction)
        ours = {"amount": instruction.amount, "currency": instruction.currency}
        return replace(said, **ours) if isinstance(said, Done) else said


class FollowsRedirects(SandboxConnector):
    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._api.post = self._post  # type: ignore[method-assign]

    def _post(self, order: Mapping[str, Any], *, deadline: timedelta) -> Any:
        url = self._api._url
        for _ in range(2):
            reply = http.call(
                "POST", url, deadline=deadline, headers=self._api._headers, json_body=order
            )
            url = getattr(reply, "headers", {}).get("location", "")
            if not url:
                break
        return reply


class SendsAgainByItself(SandboxConnector):
    def send(self, instruction: Instruction, /) -> Outcome:
        said = super().send(instruction)
        return super().send(instruction) if isinstance(said, Unknown) else said


class LogsItsHeaders(SandboxConnector):
    def send(self, instruction: Instruction, /) -> Outcome:
        log.debug("calling %s with %s", self._api._url, self._api._headers)
        return super().send(instruction)


class LogsWhomItPays(SandboxConnector):
    def send(self, instruction: Instruction, /) -> Outcome:
        log.info("paying %s", dict(instruction.instruction))
        return super().send(instruction)


class FindsNothingWhereItIsNotLetIn(SandboxConnector):
    def look_up(self, reference: str, /) -> LookUp:
        said = super().look_up(reference)
        return NotFound(body=said.body) if isinstance(said, NoInformation) and said.body else said


class TakesAnySuccessForDone(SandboxConnector):
    def send(self, instruction: Instruction, /) -> Outcome:
        said = super().send(instruction)
        if isinstance(said, Unknown) and said.body:
            return Done(amount=instruction.amount, currency=instruction.currency, body=said.body)
        return said


class SendsInOrderToAsk(SandboxConnector):
    def look_up(self, reference: str, /) -> LookUp:
        wanted = {"bank": "058", "account": "0123456789"}
        long = timedelta(seconds=5)
        super().send(
            Instruction(
                reference=reference, amount=1, currency="NGN", instruction=wanted, deadline=long
            )
        )
        return super().look_up(reference)


class WaitsForEachByte(SandboxConnector):
    """A read time-out, and no deadline; nor is there a limit to what is read."""

    def send(self, instruction: Instruction, /) -> Outcome:
        order = http.json.dumps(self._order(instruction)).encode()
        call = urllib.request.Request(self._api._url, data=order, headers=self._api._headers)
        seconds = instruction.deadline.total_seconds()
        try:
            with urllib.request.urlopen(call, timeout=seconds) as answer:
                return Unknown(reason="read", body=answer.read())
        except (OSError, HTTPException):
            return Unknown(reason="no answer")


class KeepsItsFirstSecret(SandboxConnector):
    kept: dict[str, Any] = {}

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__({**settings, "SECRET": self.kept.setdefault("SECRET", settings["SECRET"])})


class QuotesItsSettings(SandboxConnector):
    def __init__(self, settings: Mapping[str, Any]) -> None:
        if settings.get("WEAK"):
            raise ValueError("weak")
        try:
            super().__init__(settings)
        except ValueError as error:
            raise ValueError("something is wrong with the settings") from error


class CutsTheReference(SandboxConnector):
    def send(self, instruction: Instruction, /) -> Outcome:
        return super().send(replace(instruction, reference=instruction.reference[:20]))


class TakesWhatCameBackForDone(SandboxConnector):
    def look_up(self, reference: str, /) -> LookUp:
        said = super().look_up(reference)
        if not isinstance(said, Reversed):
            return said
        return Done(amount=said.amount, currency=said.currency, recipient=said.recipient)


class _BelievesEverybody(SandboxWebhooks):
    def verify(self, headers: Mapping[str, str], raw_body: bytes, **_: Any) -> None:
        pass


class BelievesEverybody(SandboxConnector):
    webhooks = _BelievesEverybody()


class _ForgetsTheTime(SandboxWebhooks):
    def verify(self, headers: Any, raw_body: bytes, **given: Any) -> None:
        super().verify(headers, raw_body, **given | {"skew": timedelta(days=1000)})


class ForgetsTheTime(SandboxConnector):
    webhooks = _ForgetsTheTime()


class _NamesTheDelivery(SandboxWebhooks):
    def read(self, raw_body: bytes) -> Event:
        return replace(super().read(raw_body), dedupe_key=uuid4().hex)


class NamesTheDelivery(SandboxConnector):
    webhooks = _NamesTheDelivery()


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A connector, the test that it fails, and a word of the message that says why."""

    connector: Callable[[Mapping[str, Any]], SandboxConnector]
    test: str
    says: str
    given: tuple[Any, ...] = ()
