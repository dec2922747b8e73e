"""What makes an action unique, and the slot that it is claimed under. Pure: no Django, no I/O."""

import hashlib
import json
from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

# Four of these share one index row of PostgreSQL, which holds 2,704 bytes.
LONGEST = 500
LONGEST_ACTION = 100


class Ungated:
    """The type of UNGATED."""

    def __repr__(self) -> str:
        return "UNGATED"


UNGATED: Final = (
    Ungated()
)  # no identity: the action runs each time it is called, and a log line says so

Target: TypeAlias = str | int | UUID | Ungated


@dataclass(frozen=True, slots=True)
class Identity:
    """All that makes an action unique, and nothing that changes between two tries of it."""

    action: str
    target: str = ""  # what it is done to
    key: str = ""  # which of several such actions on the target
    namespace: str | None = None  # whose it is, where the same target exists more than once

    @property
    def slot(self) -> str:
        """The name under which it is claimed: short, and legal wherever a name has to be."""
        return f"claim_{digest_of(self)[:24]}"

    @property
    def lock(self) -> int:
        """The number of its advisory lock, signed 64 bit. Who shares one is told to come again."""
        return int.from_bytes(bytes.fromhex(digest_of(self)[24:40]), "big", signed=True)


def digest_of(identity: Identity) -> str:
    """Hex of the SHA-256 of the whole identity; as JSON, so that no two identities join to one text."""
    parts = [identity.namespace, identity.action, identity.target, identity.key]
    return hashlib.sha256(json.dumps(["gate/v1", *parts]).encode()).hexdigest()


def identity_of(
    action: str, *, target: Target = UNGATED, key: str | None = None, namespace: str | None = None
) -> Identity | None:
    """The identity that was said; None if none was: neither a target nor a key.

    Raises ValueError for one that is said and empty, such as the primary key of an unsaved object:
    it would let everything through, or stop everything.
    """
    named = _said("action", action, longest=LONGEST_ACTION)
    within = None if namespace is None else _said("namespace", namespace)
    if isinstance(target, Ungated) and key is None:
        return None
    return Identity(
        named,
        target="" if isinstance(target, Ungated) else _said("target", target),
        key="" if key is None else _said("key", key),
        namespace=within,
    )


def _said(part: str, value: object, *, longest: int = LONGEST) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | UUID):
        raise ValueError(  # noqa: TRY004  a None here is a missing value, not another type
            f"The {part} of an action is a str, an int or a UUID, and this is {value!r}. An object "
            "that is not saved yet has no identity; leave the target out to run ungated on purpose."
        )
    text = str(value)
    if not text.strip() or "\0" in text:
        raise ValueError(f"The {part} of an action is empty or holds a NUL.")
    if len(text.encode()) > longest:  # a lone surrogate is a ValueError, too
        raise ValueError(f"The {part} of an action is longer than {longest} bytes. Hash it first.")
    return text
