"""What an answer says, whichever client it came through: Django's, REST framework's or an HTTP one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from idempotency.contract import REPLAYED

# Problems of the contract that say: this request did not run the handler.
_DID_NOT_RUN = frozenset(
    {
        "body_invalid",
        "body_too_large",
        "in_progress",
        "key_invalid",
        "key_missing",
        "key_reused",
        "outcome_unknown",
        "unauthenticated",
        "unavailable",
    }
)

# Said by what runs before the guard.
_STOPPED = frozenset({401, 403, 405, 429})


@dataclass(frozen=True, slots=True)
class Told:
    """An answer as its client saw it; header names in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def replayed(self) -> bool:
        """Does it carry the marker that only replays carry?"""
        return self.headers.get(REPLAYED.lower()) == "true"

    @property
    def code(self) -> str:
        """The code of a problem; blank for every other answer."""
        if not self.headers.get("content-type", "").startswith("application/problem+json"):
            return ""
        try:
            return str(json.loads(self.body).get("code", ""))
        except (ValueError, AttributeError):
            return ""

    @property
    def fresh(self) -> bool:
        """Did this very request run the handler to an answer?"""
        stopped = self.status in _STOPPED or self.status >= 500 or self.code in _DID_NOT_RUN
        return not (self.replayed or stopped)

    def __str__(self) -> str:
        said = f"{self.status} {self.code}".rstrip()
        return f"{said} (a replay)" if self.replayed else said


def told(response: Any) -> Told:
    """What a response says, for anything with `status_code`, `headers` and a body."""
    if isinstance(response, Told):
        return response
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Told(response.status_code, headers, _body(response))


def _body(response: Any) -> bytes:
    if getattr(response, "streaming", False):
        return b"".join(response.streaming_content)
    return bytes(response.content)
