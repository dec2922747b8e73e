"""What a rig cannot show is told in the report, with its reason, and never passed over."""

import pytest

from fulfilment.testing.conformance.faults import Fault
from fulfilment.testing.conformance.rig import excuse
from fulfilment.testing.conformance.world import World


def needs(world: World, fault: Fault) -> None:
    """Skip the test, in the rig's own words, where the provider cannot be made to do this."""
    if why := excuse(world.rig, fault, world.promises):
        pytest.skip(f"{fault.value}: {why}")


def needs_look_up(world: World) -> None:
    """Skip the test where the provider cannot be asked by reference."""
    if not world.promises.lookup_by_reference:
        pytest.skip("the connector says that this provider cannot be asked by reference")


def needs_events(world: World) -> None:
    """Skip the test where the provider sends no events."""
    if world.rig.hooks is None:
        pytest.skip("this provider sends no events")
