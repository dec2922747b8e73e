"""What a worker is killed at: each is what a task, a round or a page of the service calls."""

from django.contrib.auth import get_user_model

from fulfilment import rounds
from fulfilment.dispatch import attempt
from fulfilment.reconcile import cases
from fulfilment.webhooks import applying


def dispatch(fulfilment_id: int) -> None:
    attempt.run(fulfilment_id)


def look_up() -> int:
    return rounds.look_up_round()


def sweep() -> int:
    return rounds.sweep_round()


def apply(event_id: int) -> None:
    applying.apply(event_id)


def decide(fulfilment_id: int, username: str, verdict: str, version: int) -> str:
    row = cases.resolve(
        fulfilment_id,
        actor=get_user_model().objects.get(username=username),
        verdict=verdict,
        evidence_reference="statement 17",
        note="seen",
        version=version,
    )
    return str(row.state)
