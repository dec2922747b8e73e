"""Promises of a provider that cannot all be right, each with what follows from it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import timedelta

from fulfilment.connectors.base import Capabilities, Dedupe


@dataclass(frozen=True, slots=True)
class Doubt:
    """What is wrong with a connector's capabilities, and what to do about it."""

    sentence: str
    hint: str


def negative(capabilities: Capabilities) -> list[str]:
    """The names of durations that are less than nothing."""
    named = [(field.name, getattr(capabilities, field.name)) for field in fields(capabilities)]
    return [n for n, value in named if isinstance(value, timedelta) and value < timedelta(0)]


def doubts(capabilities: Capabilities, *, call: timedelta, has_events: bool) -> Iterator[Doubt]:
    """Every combination that no provider has, or under which nothing can ever be settled.

    `call` is how long one call may matter (total deadline + margin); `has_events` says whether an
    entry of FULFILMENT["WEBHOOKS"] speaks for the connector.
    """
    yield from _of_hearing(capabilities, has_events=has_events)
    yield from _of_absence(capabilities)
    yield from _of_repetition(capabilities, call=call)


def _of_hearing(capabilities: Capabilities, *, has_events: bool) -> Iterator[Doubt]:
    if capabilities.lookup_by_reference:
        return
    if not has_events:
        yield Doubt(
            "it can be asked nothing and sends no events, so every lost answer goes to a person",
            "Look for a query by our reference, or take its events (FULFILMENT['WEBHOOKS']).",
        )
    elif not capabilities.webhook_authenticates_body:
        yield Doubt(
            "its events prove nothing and it cannot be asked, so no event can settle anything",
            "Look for a signature over the body, or for a query by our reference.",
        )
    if capabilities.not_found_final_after is not None:
        yield Doubt(
            "not_found_final_after is declared, and it cannot be asked by reference",
            "Leave it out: nothing will ever be not found.",
        )


def _of_absence(capabilities: Capabilities) -> Iterator[Doubt]:
    final, visible = capabilities.not_found_final_after, capabilities.visible_after
    if not capabilities.lookup_by_reference or final is None:
        return
    if final < visible:
        yield Doubt(
            "not_found_final_after is shorter than visible_after: what is there would be taken "
            "for missing before it can be seen",
            "Ask the provider how long a request of ours may still be on its way.",
        )
    if visible == timedelta(0) < final:
        yield Doubt(
            "visible_after is nothing, so look-ups of one instant count as several",
            "Declare at least a second: it is also the distance between the last two look-ups.",
        )


def _of_repetition(capabilities: Capabilities, *, call: timedelta) -> Iterator[Doubt]:
    if capabilities.errors_cached and capabilities.dedupe is Dedupe.NONE:
        yield Doubt(
            "errors_cached is declared with Dedupe.NONE: an error can only be kept for a request "
            "that is recognised",
            "Find out by what the provider recognises a request.",
        )
    window, final = capabilities.dedupe_window, capabilities.not_found_final_after
    if window is None:
        return
    if window <= call:
        yield Doubt(
            "dedupe_window is over before a second call could end, so nothing is ever sent again",
            "Is the window right? Then Dedupe.NONE says it better.",
        )
    elif final is not None and final + call >= window:
        yield Doubt(
            "dedupe_window is over before not found can be a fact, so nothing is ever sent again "
            "without a person",
            "Ask the provider for a shorter not_found_final_after, or leave it out.",
        )
