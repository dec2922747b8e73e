"""Requests and answers as the audit sees them. Pure: no Django, no I/O."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# Numbers of the request, not of what it did: two answers with one effect may differ in them.
_OF_THE_REQUEST = ("request", "trace", "correlation", "span", "session")
_NAMES_A_THING = ("id", "reference", "ref", "number", "uuid", "guid")


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as it goes on the wire; header values are bytes, for some must be odd."""

    method: str
    headers: tuple[tuple[str, bytes], ...]
    body: bytes = b""
    chunked: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; of a very long body its beginning."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first header of that name."""
        return next((value for given, value in self.headers if given.lower() == name.lower()), None)

    @property
    def succeeded(self) -> bool:
        """The endpoint says that it did (or accepted) what was asked. Other redirections did nothing."""
        return 200 <= self.status < 300 or self.status == 303

    @property
    def refused(self) -> bool:
        """The endpoint says that the client has to change something."""
        return 400 <= self.status < 500

    def is_replay(self, marker: str) -> bool:
        """The marker says so; `false` on a first answer is as good as its absence."""
        return (self.header(marker) or "").strip().lower() == "true"

    def same_as(self, other: "Answer") -> bool:
        """The same status and the same bytes."""
        return (self.status, self.body) == (other.status, other.body)

    def names(self) -> tuple[str, ...]:
        """What the answer calls the thing that it made: Location, ids and references in its JSON.

        Without any of these: the whole body.
        """
        found = [value for value in (self.header("Location"),) if value]
        found += [f"{name}={value}" for name, value in _named(self._json())]
        return tuple(found) or (self.body.decode("latin-1"),)

    def _json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request with what came back; without an answer `error` says what happened instead.

    `began` and `seconds` are on the clock of the audit, in seconds.
    """

    name: str
    request: Request
    answer: Answer | None
    began: float = 0.0
    seconds: float = 0.0
    error: str = ""


def _named(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for item in value:
            yield from _named(item)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if (
                isinstance(inner, str | int)
                and not isinstance(inner, bool)
                and _names_a_thing(name)
            ):
                yield name, str(inner)
            yield from _named(inner)


def _names_a_thing(name: str) -> bool:
    word = name.lower()
    return word.endswith(_NAMES_A_THING) and not any(part in word for part in _OF_THE_REQUEST)
