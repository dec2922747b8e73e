"""Which fault befalls whom: rules that somebody set, and what a payment's narration asks for.

How a call goes is decided by the narration, else by the first rule that matches. Traits of what is
booked come on top, each from the narration, else from the first rule of its kind that matches.
"""

import itertools
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fulfilment.connectors.sandbox.provider import faults
from fulfilment.connectors.sandbox.provider.faults import CALLS, TRAITS, Fate, Fault, Kind
from fulfilment.connectors.sandbox.provider.order import InvalidRequest, digest_of

_MATCHABLE = ("kind", "reference", "account", "phone", "narration", "bank")


class Subject(Protocol):
    """What a rule can match: an order that arrives, or a payment that is looked up."""

    @property
    def kind(self) -> str:
        """Transfer, airtime or checkout."""

    @property
    def reference(self) -> str:
        """The caller's name for the payment."""

    @property
    def bank(self) -> str:
        """Bank code of the recipient."""

    @property
    def narration(self) -> str:
        """Free text."""

    @property
    def account_digest(self) -> str:
        """See `order.digest_of`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbooked:
    """A look-up of a reference that the books do not know: only these two can match."""

    kind: str
    reference: str
    bank: str = ""
    narration: str = ""
    account_digest: str = ""


@dataclass(slots=True, kw_only=True)
class Rule:
    """A fault, whom it meets, and how often still (None: until deleted)."""

    id: int
    fault: Fault
    match: dict[str, str]
    left: int | None = None
    asked_by: str = ""  # the narration that set it

    def meets(self, subject: Subject) -> bool:
        """Does every condition hold? A narration needs only to contain the text."""
        return self.left != 0 and all(
            _holds(*condition, subject) for condition in self.match.items()
        )

    def fits(self, criteria: Mapping[str, str]) -> bool:
        """Is it meant by `DELETE /faults?…`?"""
        mine = {"id": str(self.id), "fault": str(self.fault.kind), **self.match}
        by_narration = criteria.get("narration")
        return all(
            mine.get(name) == value
            or (name == "narration" and bool(by_narration) and value in self.asked_by)
            for name, value in criteria.items()
        )

    def described(self) -> dict[str, Any]:
        """The rule as `GET /faults` shows it."""
        return {
            "id": self.id,
            "fault": self.fault.kind,
            "seconds": self.fault.seconds,
            "times": self.left,
            "match": self.match,
        }


class Rules:
    """All rules in force, in the order they were set. Not thread-safe: the desk's lock guards it."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []
        self._ids = itertools.count(1)

    def add(self, members: Mapping[str, Any]) -> Rule:
        """Sets the rule that the JSON of `POST /faults` describes. Raises `InvalidRequest`."""
        times = members.get("times")
        if times is not None and (not isinstance(times, int) or times < 1):
            raise InvalidRequest("times must be a whole number from 1, or null until deleted")
        return self._set(faults.read(members), match=_match(members.get("match")), left=times)

    def remove(self, criteria: Mapping[str, str]) -> int:
        """Deletes the rules that fit all criteria (id, fault, or a match); no criteria: all."""
        kept = [rule for rule in self._rules if not rule.fits(criteria)]
        removed = len(self._rules) - len(kept)
        self._rules = kept
        return removed

    def in_force(self) -> list[Rule]:
        """The rules that can still meet somebody."""
        return [rule for rule in self._rules if rule.left != 0]

    def for_payment(self, order: Subject, *, call: int) -> Fate:
        """What befalls the `call`-th call of a reference that is not booked yet."""
        asked = list(faults.in_narration(order.narration))
        if call == 1:
            self._hide_if_asked(order, (fault for fault, _ in asked))
        met = (f for f, times in asked if f.kind in CALLS and (times is None or call <= times))
        fault = next(met, None) or self._use(order, CALLS) or Fault()
        if not fault.books:
            return Fate(fault=fault)  # a rule about what is booked is not used up by it
        traits = {f.kind: f for f, _ in asked if f.kind in TRAITS}
        for kind in TRAITS:
            if kind not in traits and (trait := self._use(order, {kind})):
                traits[kind] = trait
        return Fate(fault=fault, traits=tuple(traits.values()))

    def hide(self, subject: Subject) -> bool:
        """Is the look-up of this payment out? Uses up one of the rule's times."""
        return self._use(subject, {Kind.LOOKUP_OUTAGE}) is not None

    def _hide_if_asked(self, order: Subject, asked: Iterable[Fault]) -> None:
        for fault in asked:
            if fault.kind is Kind.LOOKUP_OUTAGE:
                match = {"kind": str(order.kind), "reference": order.reference}
                self._set(fault, match=match, asked_by=order.narration)

    def _set(
        self, fault: Fault, *, match: dict[str, str], left: int | None = None, asked_by: str = ""
    ) -> Rule:
        rule = Rule(id=next(self._ids), fault=fault, match=match, left=left, asked_by=asked_by)
        self._rules.append(rule)
        return rule

    def _use(self, subject: Subject, kinds: Container[Kind]) -> Fault | None:
        for rule in self._rules:
            if rule.fault.kind in kinds and rule.meets(subject):
                rule.left = None if rule.left is None else rule.left - 1
                return rule.fault
        return None


def _match(conditions: object) -> dict[str, str]:
    if conditions is None:
        return {}
    if not isinstance(conditions, dict) or not all(
        name in _MATCHABLE and isinstance(text, str) and text for name, text in conditions.items()
    ):
        raise InvalidRequest(f"match must be an object of text by {', '.join(_MATCHABLE)}")
    return conditions


def _holds(name: str, text: str, subject: Subject) -> bool:
    if name in {"account", "phone"}:
        return digest_of(text, reference=subject.reference) == subject.account_digest
    if name == "narration":
        return text in subject.narration
    return bool(text == getattr(subject, name))
