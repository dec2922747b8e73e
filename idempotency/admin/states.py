"""What a key's state means to people: a word, a tone, and what to expect. Unknown is no error."""

from dataclasses import dataclass

from django.db.models import Q

from idempotency.contract import Status


@dataclass(frozen=True, slots=True)
class State:
    """One state of a key as the list names it."""

    name: str
    word: str
    tone: str  # unknown | waiting | done | not-done
    rows: Q  # as the table knows it, so that an index finds the rows

    def __str__(self) -> str:
        return self.word


_OPEN = Q(status=Status.IN_PROGRESS.value)
_LEASED = _OPEN & Q(held_at__isnull=True, locked_until__isnull=False)

STATES = {
    state.name: state
    for state in (
        State("held", "Held: nobody knows", "unknown", _OPEN & Q(held_at__isnull=False)),
        State("overdue", "Came to no end", "unknown", _LEASED & Q(state="overdue")),
        State("waiting", "Free for its client", "waiting", _LEASED & Q(state="waiting")),
        State("leased", "Running", "waiting", _LEASED & Q(state="leased")),
        State("deferred", "Outcome open", "waiting", _OPEN & Q(state="deferred")),
        State("completed", "Done", "done", Q(status=Status.COMPLETED.value)),
        State("failed", "Refused", "not-done", Q(status=Status.FAILED.value)),
    )
}
