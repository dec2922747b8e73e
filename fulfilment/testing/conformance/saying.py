"""What the provider says is held against what was asked of it."""

import pytest

from fulfilment.reconcile.evidence import Finding
from fulfilment.states import State
from fulfilment.testing.conformance.faults import LIES, Fault
from fulfilment.testing.conformance.shown import needs, needs_look_up
from fulfilment.testing.conformance.world import World


class Saying:
    """Amount, currency, recipient; and what comes back."""

    @pytest.mark.parametrize("fault", LIES)
    def test_another_amount_currency_or_recipient_is_a_conflict_and_posts_nothing(
        self, world: World, fault: Fault
    ) -> None:
        needs(world, fault)
        with world.during(fault):
            row = world.find_out(world.sent())
        assert world.told == {}, f"{fault.value}, and it was posted: {world.story(row)}"
        assert row.state == State.NEEDS_RECONCILIATION, world.story(row)
        assert "conflict" in world.cases(row), f"nobody hears of it: {world.story(row)}"

    @pytest.mark.parametrize("fault", LIES)
    def test_a_look_up_that_names_another_is_a_conflict_as_well(
        self, world: World, fault: Fault
    ) -> None:
        needs(world, fault)
        needs_look_up(world)
        row = world.sent(Fault.LOST_ANSWER)
        world.rig.let_settle(row.reference)
        with world.during(fault):
            row = world.ask(row)
        assert world.told == {}, f"{fault.value}, and it was posted: {world.story(row)}"
        assert row.state == State.NEEDS_RECONCILIATION, world.story(row)
        assert "conflict" in world.cases(row), f"nobody hears of it: {world.story(row)}"

    def test_what_is_done_says_what_was_asked_for(self, world: World) -> None:
        row = world.paid()
        done = row.evidence.filter(finding=Finding.DONE).latest("id")
        assert (done.amount, done.currency) == (row.amount, row.currency), (
            "the amount is not read from the answer, so another one could not be told"
        )

    def test_what_comes_back_later_is_reversed_once(self, world: World) -> None:
        needs(world, Fault.RETURNED_LATER)
        needs_look_up(world)
        with world.during(Fault.RETURNED_LATER):
            row = world.paid()
        world.rig.let_return(row.reference)
        for _ in range(2):
            row = world.ask_about_decided(row)
        assert row.state == State.REVERSED, f"it came back, and is {world.story(row)}"
        assert world.told == {"fulfilled": 1, "reversed": 1}
        assert world.rig.effects(row.reference) == 1
