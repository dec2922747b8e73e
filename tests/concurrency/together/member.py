"""One process of a crew: what it does in a round."""

import json
import socket
import time
import traceback
from collections.abc import Mapping
from typing import Any

from django.contrib.auth import get_user_model
from django.db import close_old_connections

from fulfilment import rounds
from fulfilment.connectors import registry
from fulfilment.dispatch import attempt
from fulfilment.dispatch.claim import Claimed
from fulfilment.errors import FulfilmentError
from fulfilment.models import Fulfilment
from fulfilment.reconcile import cases
from fulfilment.reconcile.reading import situation_of
from fulfilment.states import State
from fulfilment.webhooks import applying
from tests.integration.webhooks.support import deliver, stored

FOR = 0.5  # seconds for which somebody tries who cannot begin yet


def serve(port: int) -> None:
    """Do as ordered, until the other end hangs up."""
    with (
        socket.create_connection(("127.0.0.1", port)) as conversation,
        conversation.makefile("rw") as orders,
    ):
        for line in orders:
            orders.write(json.dumps(_done(**json.loads(line))) + "\n")
            orders.flush()


def answer(fulfilment_id: int) -> Any:
    """A worker with the provider's answer in its hand; its lease may be over."""
    row = _row(fulfilment_id)
    mine = row.attempts.get()
    claimed = Claimed(
        fulfilment=row, attempt=mine, before=situation_of(row), begun=time.monotonic()
    )
    outcome: Any = registry.connector(row.connector).look_up(row.reference)
    yield
    attempt.settle(claimed, outcome)


def sweep(_: int) -> Any:
    yield
    rounds.sweep_round()


def look_up(_: int) -> Any:
    """The next round of look-ups finds the row as soon as somebody has taken it back."""
    yield
    _try_for_a_while(rounds.look_up_round)


def webhook(body: str, headers: Mapping[str, str]) -> Any:
    """The web process takes it; a worker applies it."""
    yield
    said = deliver(body.encode(), headers, address="/v1/webhooks/sandbox")
    assert said.status_code == 200, said.content
    applying.apply(stored(body.encode()).pk)


def decide(fulfilment_id: int, username: str, verdict: str, version: int | None = None) -> Any:
    """A person: on the page as they see it once there is something to decide, or saw it before."""
    person = get_user_model().objects.get(username=username)
    yield
    if version is None:
        _try_for_a_while(lambda: _row(fulfilment_id).state != State.DISPATCHING)
        version = _row(fulfilment_id).version
    cases.resolve(
        fulfilment_id,
        actor=person,
        verdict=verdict,
        evidence_reference=f"statement 17, as {username} reads it",
        version=version,
    )


def _row(fulfilment_id: int) -> Fulfilment:
    return Fulfilment.objects.get(pk=fulfilment_id)


def _done(*, work: str, subject: list[Any], at: float) -> tuple[str, str]:
    try:
        steps = globals()[work](*subject)
        next(steps)
        time.sleep(max(0.0, at - time.monotonic()))
        next(steps, None)
    except FulfilmentError as error:
        return "told", f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  # whoever gave the order judges
        return "broke", traceback.format_exc()
    finally:
        close_old_connections()
    return "done", ""


def _try_for_a_while(work: Any) -> None:
    end = time.monotonic() + FOR
    while not work() and time.monotonic() < end:
        time.sleep(0.001)
