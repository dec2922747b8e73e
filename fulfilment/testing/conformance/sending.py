"""What becomes of one payment, whatever becomes of the call."""

import time
from datetime import timedelta

import pytest

from fulfilment.models import Fulfilment
from fulfilment.states import State
from fulfilment.testing.conformance.faults import DONE_IN_SILENCE, SLOW, Fault
from fulfilment.testing.conformance.shown import needs, needs_look_up
from fulfilment.testing.conformance.world import World
from fulfilment.testing.passing import make_due, run_for

_HOURS = timedelta(hours=6)


class Sending:
    """An attempt, and what it leaves behind."""

    def test_a_payment_is_done_once(self, world: World) -> None:
        row = world.paid()
        assert world.rig.effects(row.reference) == 1, (
            "fulfilled, and the books do not have it once under our reference: was it cut or changed?"
        )
        assert world.told == {"fulfilled": 1}
        assert world.cases(row) == []

    def test_a_declined_payment_fails_and_moves_nothing(self, world: World) -> None:
        needs(world, Fault.DECLINED)
        with world.during(Fault.DECLINED):
            row = world.find_out(world.sent())
        assert row.state == State.FAILED, f"it was declined for ever, and is {world.story(row)}"
        assert world.rig.effects(row.reference) == 0
        assert world.told == {"failed": 1}

    def test_a_refusal_for_a_reason_of_ours_waits_and_goes_again(self, world: World) -> None:
        needs(world, Fault.TURNED_AWAY)
        row = world.sent(Fault.TURNED_AWAY)
        assert row.state == State.PENDING, (
            f"documented as nothing begun, so the same reference goes again; it is {world.story(row)}"
        )
        assert world.told == {}
        row = world.find_out(world.send(row))
        assert row.state == State.FULFILLED, world.story(row)
        assert world.rig.effects(row.reference) == 1

    @pytest.mark.parametrize("fault", DONE_IN_SILENCE)
    def test_what_is_done_in_silence_is_unknown_and_never_failed(
        self, world: World, fault: Fault
    ) -> None:
        needs(world, fault)
        row = world.sent(fault)
        assert row.state == State.NEEDS_RECONCILIATION, (
            f"after {fault.value} nobody can know, and it is {world.story(row)}"
        )
        assert world.told == {}
        row = world.find_out(row)
        assert world.rig.effects(row.reference) == 1
        if world.promises.lookup_by_reference:
            assert row.state == State.FULFILLED, f"it was done, and is {world.story(row)}"
        else:
            _is_in_good_hands(world, row)

    def test_a_lost_request_is_unknown_and_is_sent_again_only_when_that_is_safe(
        self, world: World
    ) -> None:
        needs(world, Fault.LOST_REQUEST)
        world.paid()  # a reference that every look-up finds
        row = world.sent(Fault.LOST_REQUEST)
        assert row.state == State.NEEDS_RECONCILIATION, world.story(row)
        assert world.rig.effects(row.reference) == 0
        run_for(_HOURS + (world.promises.not_found_final_after or timedelta(0)))
        row = world.find_out(row)
        assert row.state in {State.NEEDS_RECONCILIATION, State.FULFILLED}, world.story(row)
        assert world.rig.effects(row.reference) == (row.state == State.FULFILLED), world.story(row)
        if row.state == State.NEEDS_RECONCILIATION:
            run_for(timedelta(hours=25))
            _is_in_good_hands(world, row)

    def test_a_request_that_arrives_late_is_found_and_not_sent_again(self, world: World) -> None:
        needs(world, Fault.LATE_REQUEST)
        needs_look_up(world)
        row = world.ask(world.sent(Fault.LATE_REQUEST))
        assert row.state == State.NEEDS_RECONCILIATION, (
            f"not found while it may still arrive decides nothing, and it is {world.story(row)}"
        )
        world.rig.let_through()
        row = world.find_out(row)
        assert row.state == State.FULFILLED, f"it arrived, and is {world.story(row)}"
        assert world.rig.effects(row.reference) == 1
        assert row.attempts.count() == 1, "it was sent again while it was on its way"

    def test_a_refused_connection_is_proof_and_the_payment_waits(self, world: World) -> None:
        row = world.sent(Fault.REFUSED)
        assert row.state == State.PENDING, (
            f"nothing was ever connected, and it is {world.story(row)}"
        )
        assert world.cases(row) == []
        assert world.rig.effects(row.reference) == 0
        row = world.find_out(world.send(row))
        assert row.state == State.FULFILLED, world.story(row)
        assert world.rig.effects(row.reference) == 1

    def test_a_redirect_is_not_followed(self, world: World) -> None:
        needs(world, Fault.REDIRECT)
        row = world.sent(Fault.REDIRECT)
        assert world.rig.effects(row.reference) == 0, (
            "the redirect was followed: an order went to an address that nobody configured"
        )
        assert row.state == State.NEEDS_RECONCILIATION, world.story(row)

    def test_an_attempt_is_one_call(self, world: World) -> None:
        needs(world, Fault.SERVER_ERROR)
        row = world.sent(Fault.SERVER_ERROR)
        calls = world.rig.calls(row.reference)
        assert calls == 1, f"one attempt made {calls} calls: the connector sends again by itself"

    @pytest.mark.parametrize("fault", sorted(SLOW))
    def test_a_call_ends_at_its_deadline(self, world: World, fault: Fault) -> None:
        needs(world, fault)
        begun = time.monotonic()
        with world.during(fault):
            world.connector.send(world.order(deadline=timedelta(seconds=0.3)))
        took = time.monotonic() - begun
        assert took < 5, (
            f"a call of 0.3 s took {took:.1f} s: a read time-out begins anew with every byte"
        )

    def test_an_answer_without_end_is_not_read_to_its_end(self, world: World) -> None:
        needs(world, Fault.HUGE)
        with world.during(Fault.HUGE):
            said = world.connector.send(world.order())
        kept = len(getattr(said, "body", b""))
        assert kept <= 1 << 20, f"{kept} bytes of an answer were read: anybody can fill our memory"

    def test_an_error_that_the_provider_keeps_is_unknown_each_time(self, world: World) -> None:
        needs(world, Fault.CACHED_ERROR)
        with world.during(Fault.CACHED_ERROR):
            row = world.sent()
            for _ in range(2):
                assert row.state == State.NEEDS_RECONCILIATION, world.story(row)
                row = world.send_again(row)
        assert row.state == State.NEEDS_RECONCILIATION, world.story(row)
        assert Fulfilment.objects.filter(payment_id=row.payment_id).count() == 1, (
            "a new reference was made up for what the provider may still carry out"
        )
        run_for(timedelta(hours=25))
        _is_in_good_hands(world, row)


def _is_in_good_hands(world: World, row: Fulfilment) -> None:
    row = world.now(row)
    assert world.told == {} or row.state == State.FULFILLED, world.story(row)
    assert row.next_check_at is not None
    assert world.cases(row), f"nobody knows, and nobody is asked: {world.story(row)}"
    make_due(row)  # waits for a check that comes
