"""What a look-up may decide, and what it must leave alone."""

from uuid import uuid4

import pytest

from fulfilment.connectors.base import NoInformation, NotFound
from fulfilment.reconcile.evidence import Finding
from fulfilment.states import State
from fulfilment.testing.conformance.faults import NO_INFORMATION, Fault
from fulfilment.testing.conformance.shown import needs, needs_look_up
from fulfilment.testing.conformance.world import World


class Asking:
    """Look-ups by reference."""

    @pytest.mark.parametrize("fault", NO_INFORMATION)
    def test_an_outage_tells_a_look_up_nothing(self, world: World, fault: Fault) -> None:
        needs(world, fault)
        needs_look_up(world)
        order = world.order()
        world.connector.send(order)
        with world.during(fault):
            said = world.connector.look_up(order.reference)
        assert isinstance(said, NoInformation), (
            f"the provider could not be asked ({fault.value}), and it was taken for {said!r}"
        )

    def test_an_outage_keeps_the_place_in_the_schedule(self, world: World) -> None:
        needs(world, Fault.SERVER_ERROR)
        needs_look_up(world)
        row = world.sent(Fault.LOST_ANSWER)
        with world.during(Fault.SERVER_ERROR):
            after = world.ask(row)
        assert after.evidence.latest("id").finding == Finding.NO_INFORMATION, world.story(row)
        assert (after.state, after.checks) == (State.NEEDS_RECONCILIATION, row.checks), (
            "nobody answered, and the schedule went on as if somebody had"
        )
        assert world.find_out(row).state == State.FULFILLED, world.story(row)

    def test_what_was_never_sent_is_not_found(self, world: World) -> None:
        needs_look_up(world)
        said = world.connector.look_up(uuid4().hex)
        assert isinstance(said, NotFound), f"nobody sent it, and the look-up says {said!r}"

    def test_building_and_asking_begin_nothing(self, world: World) -> None:
        reference = uuid4().hex
        for _ in range(3):
            connector = world.connector
        assert world.rig.calls(reference) == 0
        if connector.capabilities.lookup_by_reference:
            connector.look_up(reference)
            assert world.rig.calls(reference) == 1, "one look-up is not one call"
        assert world.rig.effects(reference) == 0, "a look-up began something"

    def test_a_provider_that_cannot_be_asked_says_so(self, world: World) -> None:
        if world.promises.lookup_by_reference:
            pytest.skip("this provider can be asked")
        said = world.connector.look_up(uuid4().hex)
        assert isinstance(said, NoInformation), f"nobody can be asked, and it says {said!r}"
