"""What tests and people do behind the provider's back: faults, events, deliveries."""

import re
from collections.abc import Mapping
from typing import Any

from fulfilment.connectors.sandbox.provider import answers
from fulfilment.connectors.sandbox.provider.answers import Answer
from fulfilment.connectors.sandbox.provider.courier import MOST_AT_ONCE, Courier
from fulfilment.connectors.sandbox.provider.desk import Desk
from fulfilment.connectors.sandbox.provider.order import InvalidRequest
from fulfilment.connectors.sandbox.provider.outbox import Outbox

_WORD = re.compile(r"[A-Za-z0-9_.:-]{1,255}")  # goes into a header


class Control:
    """Sets faults, shows events and deliveries, and makes more of them."""

    def __init__(self, desk: Desk, outbox: Outbox, courier: Courier) -> None:
        self._desk = desk
        self._outbox = outbox
        self._courier = courier

    def rules(self) -> list[dict[str, Any]]:
        """The rules in force."""
        return self._desk.ruled(lambda rules: [rule.described() for rule in rules.in_force()])

    def set_fault(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """Sets a rule and describes it. Raises `InvalidRequest`."""
        return self._desk.ruled(lambda rules: rules.add(members).described())

    def clear_faults(self, criteria: Mapping[str, str]) -> int:
        """Deletes rules; says how many."""
        return self._desk.ruled(lambda rules: rules.remove(criteria))

    def events(self, criteria: Mapping[str, str]) -> list[dict[str, Any]]:
        """Events that fit, oldest first, each with the time it arrived or None."""
        return [
            event
            for event in self._outbox.listing()
            if _fits(event | {"reference": event["data"].get("reference")}, criteria)
        ]

    def deliveries(self, criteria: Mapping[str, str]) -> list[dict[str, Any]]:
        """Deliveries that fit, oldest first."""
        return [entry for entry in self._courier.log() if _fits(entry, criteria)]

    def make_event(self, members: Mapping[str, Any]) -> Answer:
        """Makes an event and delivers it. Raises `InvalidRequest` and OSError."""
        if not self._courier.can_deliver:
            return _nowhere()
        data = members.get("data")
        if not isinstance(data, dict):
            raise InvalidRequest("data must be an object")
        event_id = _word(members, "id") if "id" in members else ""
        event = self._outbox.make(_word(members, "type"), data, event_id=event_id)
        [status] = self._courier.deliver(event, times=1)
        if not self._outbox.has_arrived(event):
            self._courier.post([event])
        return answers.of(event.content | {"status": status}, status=201)

    def deliver(self, event_id: str, *, times: str) -> Answer:
        """Delivers an event now, whether or not it has arrived. Raises `InvalidRequest`."""
        if not self._courier.can_deliver:
            return _nowhere()
        if not times.isascii() or not times.isdigit() or not 1 <= int(times) <= MOST_AT_ONCE:
            raise InvalidRequest(f"times must be a whole number from 1 to {MOST_AT_ONCE}")
        event = self._outbox.find(event_id)
        if event is None:
            return answers.error(404, "not_found", "No event has this id.")
        return answers.of(self._courier.deliver(event, times=int(times)))


def _fits(entry: Mapping[str, Any], criteria: Mapping[str, str]) -> bool:
    return all(entry.get(name) == value for name, value in criteria.items())


def _word(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise InvalidRequest(f"{name} must be text of the form {_WORD.pattern}")
    return value


def _nowhere() -> Answer:
    return answers.error(409, "no_endpoint", "Start the provider with --webhook-url.")
