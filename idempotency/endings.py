"""How a request ended that ran its handler: what is stored of it, and what its client gets."""

from dataclasses import dataclass
from typing import TypeAlias

from django.http.response import HttpResponseBase

from idempotency import errors, responses


@dataclass(frozen=True, slots=True)
class Settled:
    """The key is finished with this answer; `replayed` if it is an older one, sent again."""

    captured: responses.Captured
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Provisional:
    """The business rows are committed, the outcome is open, nothing is stored of this answer."""

    response: HttpResponseBase


@dataclass(frozen=True, slots=True)
class RolledBack:
    """Nothing happened and nothing is stored; the answer says why."""

    response: HttpResponseBase


Ending: TypeAlias = Settled | Provisional | RolledBack


def nothing_happened(error: errors.Stated) -> RolledBack:
    """The ending of what was undone as a whole; `error` tells the client what to do."""
    return RolledBack(responses.respond(error.answer()))
