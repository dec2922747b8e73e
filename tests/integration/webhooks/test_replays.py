"""What fits nothing is applied again or set aside by a person, who is on record with it."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

import fulfilment
from fulfilment import store
from fulfilment.errors import NotAllowed, Stale
from fulfilment.models import (
    Evidence,
    Fulfilment,
    ProviderEvent,
    ProviderEventAction,
    ProviderEventPayload,
)
from fulfilment.states import reference_of
from fulfilment.webhooks import replays
from fulfilment.webhooks.applying import apply, apply_due
from fulfilment.webhooks.errors import EventBodyGone, EventIsApplied, EventIsSetAside
from tests.integration.fulfilment.support import Books, now, staff
from tests.integration.webhooks.support import about, alerts, deliver, due, event, stored, unknown
from tests.integration.webhooks.test_routes import PAID, order, paid

pytestmark = pytest.mark.django_db

LATER = reference_of("transfer:later", connector="memory", generation=1)


@pytest.fixture
def agent() -> Any:
    return staff("agent", "replay_event")


def dead(settings: Any, reference: str = LATER, **given: Any) -> bytes:
    """An event that nothing fitted for so long that it was given up."""
    body = event(reference=reference, **given)
    deliver(body)
    settings.FULFILMENT["DEAD_AFTER"] = timedelta(microseconds=1)
    due()
    apply_due()
    settings.FULFILMENT["DEAD_AFTER"] = timedelta(hours=72)
    assert stored(body).status == "dead"
    return body


def later() -> Fulfilment:
    """The payment that it was about, after all."""
    return unknown(payment_id="transfer:later")


def came(body: bytes, *, ago: timedelta) -> None:
    """As if it had come then; the database lets nobody say so."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        ProviderEvent.objects.filter(pk=stored(body).pk).update(received_at=store.now() - ago)
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")


def steps(body: bytes) -> list[tuple[str, str, str]]:
    found = stored(body).actions.order_by("id")
    return [(step.actor, step.action, step.before) for step in found]


def test_what_was_given_up_is_applied_again_by_a_person(settings, agent, books: Books) -> None:
    body, row = dead(settings), later()
    assert replays.replay(stored(body).pk, actor=agent).status == "applied"
    assert (now(row).state, books.told) == ("fulfilled", {"fulfilled": 1})
    assert steps(body) == [("staff:agent", "replayed", "dead")]


def test_what_is_parked_is_applied_again_before_its_time(agent) -> None:
    body = event(reference=LATER)
    deliver(body)
    apply_due()
    row = later()
    assert stored(body).next_check_at > store.now()
    assert replays.replay(stored(body).pk, actor=agent).status == "applied"
    assert now(row).state == "fulfilled"
    assert steps(body) == [("staff:agent", "replayed", "parked")]


def test_what_still_fits_nothing_waits_again_as_if_it_had_just_come(
    settings, agent, caplog
) -> None:
    body = dead(settings)
    came(body, ago=timedelta(hours=100))
    settings.FULFILMENT["PARK_SCHEDULE"] = (timedelta(minutes=1), timedelta(hours=9))
    caplog.clear()
    again = replays.replay(stored(body).pk, actor=agent)
    assert (again.status, again.checks) == ("parked", 1), "it was given up again at once"
    assert again.next_check_at < store.now() + timedelta(minutes=2), "it is asked about too rarely"
    assert alerts(caplog) == []


def test_a_payment_whose_start_was_given_up_is_started_by_a_replay(
    settings, agent, provider: Any
) -> None:
    known: list[str] = []
    fulfilment.route(PAID, lambda said: order(said) if known else None)
    body = paid()
    deliver(body)
    settings.FULFILMENT["DEAD_AFTER"] = timedelta(microseconds=1)
    apply_due()
    assert stored(body).status == "dead"
    known.append("now")
    assert replays.replay(stored(body).pk, actor=agent).status == "applied"
    assert Fulfilment.objects.count() == 1


@pytest.mark.parametrize("superuser", [False, True])
def test_nobody_replays_or_sets_aside_without_the_permission(settings, superuser: bool) -> None:
    body, row = dead(settings), later()
    other = staff("other", "resolve_fulfilled", superuser=superuser)
    for step in (replays.replay, replays.put_back):
        with pytest.raises(NotAllowed, match="replay_event"):
            step(stored(body).pk, actor=other)
    with pytest.raises(NotAllowed, match="replay_event"):
        replays.set_aside(stored(body).pk, actor=other, note="no")
    assert (stored(body).status, steps(body)) == ("dead", [])
    assert now(row).state == "needs_reconciliation"


def test_an_event_that_is_applied_has_nothing_left_to_do(agent, books: Books) -> None:
    row = unknown()
    body = about(row)
    deliver(body)
    apply_due()
    for step in (
        lambda: replays.replay(stored(body).pk, actor=agent),
        lambda: replays.set_aside(stored(body).pk, actor=agent, note="x"),
    ):
        with pytest.raises(EventIsApplied):
            step()
    assert (steps(body), books.told) == ([], {"fulfilled": 1})


def test_an_event_whose_body_is_gone_is_not_applied_again(settings, agent) -> None:
    body = dead(settings)
    ProviderEventPayload.objects.filter(event=stored(body)).delete()
    with pytest.raises(EventBodyGone):
        replays.replay(stored(body).pk, actor=agent)
    assert (stored(body).status, steps(body)) == ("dead", [])


def test_whoever_looked_at_an_older_state_is_told_who_was_faster(settings, agent) -> None:
    body = dead(settings)
    seen = replays.steps_on(stored(body))
    replays.replay(stored(body).pk, actor=agent, seen=seen)
    with pytest.raises(Stale, match="staff:agent"):
        replays.set_aside(
            stored(body).pk, actor=staff("second", "replay_event"), note="x", seen=seen
        )
    assert len(steps(body)) == 1


def test_what_is_set_aside_is_left_alone_until_it_is_taken_back(settings, agent) -> None:
    body, row = dead(settings), later()
    replays.set_aside(stored(body).pk, actor=agent, note="a test of theirs")
    assert stored(body).status == "set_aside"
    apply(stored(body).pk)
    apply_due()
    assert now(row).state == "needs_reconciliation"
    with pytest.raises(EventIsSetAside):
        replays.set_aside(stored(body).pk, actor=agent, note="again")
    assert replays.replay(stored(body).pk, actor=agent).status == "applied"
    assert [action for _, action, _ in steps(body)] == ["set_aside", "replayed"]
    assert ProviderEventAction.objects.get(action="set_aside").note == "a test of theirs"


def test_a_worker_that_had_it_in_hand_says_nothing_of_what_was_set_aside(settings, agent) -> None:
    from fulfilment.webhooks import applying

    row = unknown()
    body = about(row)
    deliver(body)
    taken = applying._take(stored(body).pk)
    replays.set_aside(stored(body).pk, actor=agent, note="forged")
    applying._apply(taken)
    assert not Evidence.objects.filter(source="webhook").exists()
    assert (now(row).state, stored(body).status) == ("needs_reconciliation", "set_aside")


# --- many, after a fix -----------------------------------------------------------------------------


def replayed(capsys: Any, *options: str) -> str:
    call_command("replay_events", *options)
    return capsys.readouterr().out.strip()


def test_a_command_applies_again_all_that_waits_or_was_given_up(
    settings, capsys, books: Books
) -> None:
    given_up, parked = dead(settings), event(reference=LATER)
    hopeless = event(reference="nobody")
    for body in (parked, hopeless):
        deliver(body)
    apply_due()
    row = later()
    assert replayed(capsys, "--note", "the mapping is mended") == "applied 2, parked 1"
    assert (now(row).state, books.told) == ("fulfilled", {"fulfilled": 1})
    assert steps(given_up) == [("command:replay_events", "replayed", "dead")]
    assert ProviderEventAction.objects.filter(note="the mapping is mended").count() == 3


def test_a_command_narrows_what_it_applies_again(settings, capsys) -> None:
    bodies = {
        "dead": dead(settings, reference="d"),
        "other type": event("transfer.failed", reference="t"),
        "parked": event(reference="p"),
    }
    foreign = event(reference="f")
    for body in list(bodies.values())[1:]:
        deliver(body)
    deliver(foreign, address="/v1/webhooks/foreign")
    apply_due()

    def touched(*options: str) -> set[str]:
        before = ProviderEventAction.objects.count()
        replayed(capsys, *options)
        done = ProviderEventAction.objects.order_by("id")[before:]
        return {step.event.reference for step in done}

    assert touched("--dry-run") == set()
    assert touched("--since", "2999-01-01") == set()
    assert touched("--dead") == {"d"}
    assert touched("--provider", "foreign") == {"f"}
    assert touched("--provider", "memory", "--type", "transfer.failed") == {"t"}
    assert touched("--since", "2020-01-01T00:00Z") == {"d", "t", "p", "f"}


def test_what_came_before_its_type_was_of_use_is_applied_by_name(capsys) -> None:
    body = paid()
    deliver(body)
    assert stored(body).status == "ignored"
    fulfilment.route(PAID, order)
    assert replayed(capsys) == "no event fits what you chose"
    with pytest.raises(CommandError, match="--type"):
        call_command("replay_events", "--ignored")
    assert replayed(capsys, "--ignored", "--type", PAID) == "applied 1"
    assert Fulfilment.objects.count() == 1


def test_what_a_person_set_aside_is_not_stirred_up_by_the_command(settings, capsys, agent) -> None:
    body = dead(settings)
    replays.set_aside(stored(body).pk, actor=agent, note="known")
    assert replayed(capsys) == "no event fits what you chose"


def test_one_event_that_cannot_be_applied_again_does_not_keep_the_others(settings, capsys) -> None:
    bad, good = dead(settings), dead(settings, amount=7)
    ProviderEventPayload.objects.filter(event=stored(bad)).delete()
    later()
    assert replayed(capsys) == "applied 1, event_body_gone 1"
    assert stored(good).status == "applied"
