"""What the provider tells of its own accord: believed once, in any order, and nobody else."""

from datetime import UTC, datetime, timedelta

import pytest

from fulfilment.models import ProviderEvent
from fulfilment.reconcile.evidence import Finding
from fulfilment.states import State
from fulfilment.testing.conformance.faults import Fault
from fulfilment.testing.conformance.shown import needs, needs_events
from fulfilment.testing.conformance.world import NAME, World


class Events:
    """Its webhooks, through the project's own address."""

    def test_an_event_settles_what_nobody_knew(self, world: World) -> None:
        needs_events(world)
        row = world.sent(Fault.LOST_ANSWER)
        world.rig.let_settle(row.reference)
        world.tell(row.reference, Finding.DONE)
        assert world.now(row).state == State.FULFILLED, world.story(row)
        assert world.told == {"fulfilled": 1}

    def test_an_event_that_comes_again_changes_nothing(self, world: World) -> None:
        needs_events(world)
        row = world.paid()
        body = world.tell(row.reference, Finding.DONE)
        for _ in range(3):
            world.deliver(body)
            world.hear()
        assert _stored() == 1, "each delivery is taken for an event of its own"
        assert world.told == {"fulfilled": 1}

    def test_two_events_about_one_payment_are_two(self, world: World) -> None:
        needs_events(world)
        needs(world, Fault.RETURNED_LATER)
        with world.during(Fault.RETURNED_LATER):
            row = world.paid()
        world.tell(row.reference, Finding.DONE)
        world.rig.let_return(row.reference)
        world.tell(row.reference, Finding.REVERSED)
        assert _stored() == 2, "the second event was taken for the first"
        assert world.now(row).state == State.REVERSED, world.story(row)
        assert world.told == {"fulfilled": 1, "reversed": 1}

    def test_events_in_the_wrong_order_end_as_in_the_right_one(self, world: World) -> None:
        needs_events(world)
        needs(world, Fault.RETURNED_LATER)
        with world.during(Fault.RETURNED_LATER):
            row = world.sent(Fault.LOST_ANSWER)
        world.rig.let_settle(row.reference)
        done = world.hooks.event(row.reference, Finding.DONE)
        world.rig.let_return(row.reference)
        world.tell(row.reference, Finding.REVERSED)
        world.deliver(done)
        world.hear()
        assert world.now(row).state == State.REVERSED, world.story(row)
        assert world.told == {"fulfilled": 1, "reversed": 1}

    def test_a_failure_told_after_it_was_done_never_undoes_it(self, world: World) -> None:
        needs_events(world)
        row = world.paid()
        world.tell(row.reference, Finding.NOT_DONE)
        assert world.now(row).state == State.FULFILLED, world.story(row)
        assert world.told == {"fulfilled": 1}

    def test_done_told_after_a_failure_is_never_dropped(self, world: World) -> None:
        needs_events(world)
        if not world.promises.webhook_authenticates_body:
            pytest.skip("its events prove nothing: only what the look-up says counts")
        row = world.sent(Fault.LOST_ANSWER)
        world.tell(row.reference, Finding.NOT_DONE)
        world.tell(row.reference, Finding.DONE)
        row = world.now(row)
        assert not {"fulfilled", "failed"} <= world.told.keys(), world.story(row)
        assert row.state == State.FULFILLED or "conflict" in world.cases(row), world.story(row)

    @pytest.mark.parametrize("how", ["forged", "unsigned", "altered by one byte"])
    def test_what_the_provider_did_not_sign_is_refused_and_not_kept(
        self, world: World, how: str
    ) -> None:
        needs_events(world)
        row = world.sent(Fault.LOST_ANSWER)
        body = world.hooks.event(row.reference, Finding.DONE)
        good = dict(world.hooks.signed(body, secret=world.hooks.secret, at=datetime.now(UTC)))
        if how == "altered by one byte" and not world.promises.webhook_authenticates_body:
            pytest.skip("its signature does not cover the body: such an event is only a hint")
        match how:
            case "forged":
                world.deliver(body, secret=world.hooks.other_secret, status=401)
            case "unsigned":
                world.deliver(body, headers={}, status=401)
            case _:
                world.deliver(body.replace(b"1", b"2", 1), headers=good, status=401)
        assert _stored() == 0
        world.hear()
        assert world.now(row).state == State.NEEDS_RECONCILIATION, world.story(row)

    def test_an_event_for_somebody_else_moves_nothing(self, world: World) -> None:
        needs_events(world)
        row = world.sent(Fault.LOST_ANSWER)
        for whose, body in world.hooks.strangers(row.reference).items():
            world.deliver(body)
            world.hear()
            assert world.now(row).state == State.NEEDS_RECONCILIATION, (
                f"an event of {whose} was believed: {world.story(row)}"
            )
        assert world.told == {}

    @pytest.mark.parametrize("away", [timedelta(minutes=-6), timedelta(minutes=6)], ids=str)
    def test_a_signature_of_another_time_proves_nothing(
        self, world: World, away: timedelta
    ) -> None:
        needs_events(world)
        if not world.hooks.timestamped:
            pytest.skip("its signature holds no time")
        body = world.hooks.event(world.paid().reference, Finding.DONE)
        world.deliver(body, at=datetime.now(UTC) + away, status=401)
        assert _stored() == 0

    def test_a_provider_without_ids_is_declared_as_one(self, world: World) -> None:
        needs_events(world)
        reference = world.paid().reference
        once, again = (world.hooks.event(reference, Finding.DONE) for _ in range(2))
        for body in (once, again):
            world.deliver(body)
        told_apart = _stored() == 2
        assert told_apart == world.promises.webhook_has_id or once == again, (
            "webhook_has_id is declared, and two events of one content are "
            f"{'two' if told_apart else 'one'}"
        )


def _stored() -> int:
    return ProviderEvent.objects.filter(provider=NAME).count()
