"""What a connector declares has to be what its provider does: the rules stand on it."""

import re

import pytest

from fulfilment.connectors.base import Declined, Dedupe, NotSent, Refused
from fulfilment.states import State, reference_of
from fulfilment.testing.conformance.faults import INDISPENSABLE, Fault
from fulfilment.testing.conformance.world import World


class Promises:
    """Capabilities, one by one, each against the books."""

    def test_a_reference_that_is_known_is_not_done_again(self, world: World) -> None:
        if world.promises.dedupe is Dedupe.NONE:
            pytest.skip("the connector says that sending again pays again")
        order = world.order()
        for _ in range(2):
            said = world.connector.send(order)
        world.rig.let_settle(order.reference)
        assert world.rig.effects(order.reference) == 1, (
            f"declared as {world.promises.dedupe.value}, and sent twice is done twice"
        )
        assert not isinstance(said, Declined | NotSent | Refused), (
            f"the reference exists, and {said!r} says that nothing is there"
        )

    def test_a_duplicate_is_looked_up_and_never_failed(self, world: World) -> None:
        if world.promises.dedupe is Dedupe.NONE:
            pytest.skip("the connector says that sending again pays again")
        row = world.send_again(world.sent(Fault.LOST_ANSWER))
        assert row.state != State.FAILED, f"it exists, and is {world.story(row)}"
        row = world.find_out(row)
        assert row.attempts.count() == 2, "the suite could not send it again"
        assert world.rig.effects(row.reference) == 1, world.story(row)
        assert world.told["failed"] == 0
        if world.promises.lookup_by_reference:
            assert row.state == State.FULFILLED, f"it was done, and is {world.story(row)}"

    def test_what_the_rig_leaves_out_has_a_reason(self, world: World) -> None:
        rig, promises = world.rig, world.promises
        silent = [fault.value for fault, why in rig.cannot.items() if len(why.split()) < 3]
        assert not silent, f"{silent} are left out without a reason in words"
        missing = sorted(INDISPENSABLE & rig.cannot.keys())
        assert not missing, f"without {missing} nothing is shown of this connector"
        kept = Fault.CACHED_ERROR in rig.cannot and promises.errors_cached
        assert not kept, "it declares that errors are cached, and nobody has seen one"
        comes_back = Fault.RETURNED_LATER in rig.cannot and promises.late_reversal_horizon
        assert not comes_back, "it declares a late_reversal_horizon, and nobody has seen a return"
        named = Fault.WRONG_RECIPIENT in rig.cannot and world.connector.recipient(rig.instruction)
        assert not named, f"answers name {named!r}, and nobody has seen one that names another"

    def test_events_are_shown_where_the_connector_reads_them(self, world: World) -> None:
        reads = getattr(world.connector, "webhooks", None) is not None
        assert reads == (world.rig.hooks is not None), (
            "the connector reads events and the rig has none, or the other way round"
        )

    def test_our_name_for_it_arrives_whole(self, world: World) -> None:
        """Hexadecimal, so no customer's text can form a word that a provider's sandbox obeys."""
        reference = reference_of("DU_1_PMCK\nsandbox:decline", connector="x", generation=1)
        assert re.fullmatch("[0-9a-f]{32}", reference)
        world.connector.send(world.order(reference))
        world.rig.let_settle(reference)
        assert world.rig.effects(reference) == 1, "the provider's books have it under another name"
