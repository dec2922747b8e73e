"""What this person may do. Only for drawing the page: the services ask again, and they decide."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fulfilment.reconcile import people

# As the permissions are called where they are given to people.
TITLES = {
    people.RESOLVE["fulfilled"]: "Can decide that an effect happened",
    people.RESOLVE["failed"]: "Can decide that an effect did not happen",
    people.ASK: "Can ask the provider now",
    people.CANCEL: "Can cancel what was never sent",
    people.CORRECT: "Can correct a verdict that turned out wrong",
    people.AGAIN: "Can send again, under a new reference, what did not happen",
}


@dataclass(frozen=True, slots=True)
class Access:
    """Per action, why it is not this person's to do; empty where it is."""

    actor: str  # how the person stands in the journal
    missing: Mapping[str, str]  # by permission
    work: str  # open, take, release, note: whoever may do anything else

    @property
    def ask(self) -> str:
        return self.missing[people.ASK]

    @property
    def cancel(self) -> str:
        return self.missing[people.CANCEL]


def access_of(user: Any) -> Access:
    """Reads the person's grants once. A superuser has none by being one."""
    granted = {name: people.may(user, name) for name in TITLES}
    missing = {name: "" if granted[name] else _missing(title) for name, title in TITLES.items()}
    return Access(
        actor=people.name_of(user),
        missing=missing,
        work="" if any(granted.values()) else "You may look at cases but not work on them.",
    )


def _missing(title: str) -> str:
    return f"You do not have the permission “{title}”, neither yourself nor by a group."
