"""When a payment may get its next reference, held by the database."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction

from fulfilment import store
from fulfilment.models import Fulfilment
from fulfilment.states import State
from tests.integration.fulfilment.support import held, now, start
from tests.integration.fulfilment.test_move_guards import push, refused
from tests.integration.fulfilment.walk import step, walked

pytestmark = pytest.mark.django_db


def test_what_may_have_been_sent_under_an_earlier_reference_is_never_cancelled() -> None:
    row = start()
    held(row, sent=True)
    row = step(step(now(row), State.NEEDS_RECONCILIATION), State.FAILED)
    with refused("fulfilment_cancelled_never_sent"):
        push(following(row), State.CANCELLED)


def following(row: Fulfilment, **other: Any) -> Fulfilment:
    """The payment's next generation, by a plain insert."""
    at = store.now()
    copied = ("kind", "event_id", "payment_id", "connector", "amount", "currency")
    whole = {name: getattr(row, name) for name in copied} | {
        "generation": row.generation + 1,
        "reference": uuid4().hex,
        "next_check_at": at,
        "created_at": at,
        "state_changed_at": at,
    }
    with transaction.atomic():
        return Fulfilment.objects.create(**(whole | other))


@pytest.mark.parametrize("state", [s for s in State if s is not State.FAILED], ids=str)
def test_a_generation_follows_a_failure_only(state: State) -> None:
    with refused("fulfilment_generation_follows_failure"):
        following(walked(start(), state))


def test_a_generation_follows_the_one_before_it() -> None:
    with refused("fulfilment_generation_follows_failure"):
        following(walked(start(), State.FAILED), generation=3)


@pytest.mark.django_db(transaction=True)
def test_no_generation_begins_once_the_failure_is_committed() -> None:
    row = walked(start(), State.FAILED)
    with refused("fulfilment_generation_follows_failure"):
        following(row)


@pytest.mark.parametrize(
    "other", [{"amount": 1}, {"currency": "EUR"}, {"kind": "k"}, {"event_id": "e"}]
)
def test_every_generation_pays_for_the_same(other: dict[str, Any]) -> None:
    with refused("fulfilment_generation_of_the_same"):
        following(walked(start(), State.FAILED), **other)
