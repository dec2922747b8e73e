"""Credentials: missing, wrong, replaced; and what is never shown to anybody."""

from typing import Any

import pytest

from fulfilment.connectors import registry
from fulfilment.connectors.base import Declined, Done, NoInformation
from fulfilment.models import CaseAction, Evidence, Transition
from fulfilment.states import State
from fulfilment.testing.conformance.faults import Fault
from fulfilment.testing.conformance.shown import needs, needs_look_up
from fulfilment.testing.conformance.world import NAME, World
from fulfilment.testing.passing import make_due


class Secrecy:
    """Whoever has the logs has no secret, and whoever replaces a secret restarts nothing."""

    def test_missing_credentials_are_named_and_not_shown(self, world: World) -> None:
        given = _secrets(world)
        for name in given:
            world.credentials(given | {name: ""})
            with pytest.raises(Exception, match=f"(?i){name}") as caught:
                registry.build(NAME)
            shown = [
                other for other, value in given.items() if value and value in str(caught.value)
            ]
            assert not shown, f"the error shows {shown}"

    def test_wrong_credentials_fail_nobodys_payment(self, world: World) -> None:
        given = _secrets(world)
        if not given:
            pytest.skip("this connector has no credentials")
        world.credentials({name: _other(value) for name, value in given.items()})
        row = world.sent()
        assert row.state in {State.PENDING, State.NEEDS_RECONCILIATION}, (
            f"our own mistake became a verdict: {world.story(row)}"
        )
        assert world.rig.effects(row.reference) == 0, "it takes orders from anybody"
        if world.promises.lookup_by_reference:
            said = world.connector.look_up(row.reference)
            assert isinstance(said, NoInformation), f"nobody was let in, and it says {said!r}"
        world.credentials(given)
        make_due(row)
        assert world.find_out(world.send(row)).state != State.FAILED, world.story(row)

    def test_replaced_credentials_work_without_a_restart(self, world: World) -> None:
        needs(world, Fault.ROTATED)
        with world.rig.rotate() as replaced:
            refused = world.sent()
            assert world.rig.effects(refused.reference) == 0, "the old credentials are still good"
            world.credentials(replaced)
            row = world.find_out(world.sent())
            assert row.state == State.FULFILLED, (
                f"the new credentials are in their file, and it is {world.story(row)}"
            )

    def test_no_secret_and_no_account_is_shown(
        self, world: World, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level("DEBUG"):
            said = [world.connector.send(world.order())]
            rows = [world.paid(), world.sent(Fault.LOST_ANSWER), world.sent(Fault.LOST_REQUEST)]
            rows += [world.find_out(row) for row in rows]
        shown = {
            "a log": caplog.text,
            "a repr of the connector": repr(world.connector),
            "a repr of the order": repr(world.order()),
            "a reason": " ".join(str(getattr(one, "reason", "")) for one in said),
            "the journal": " ".join(_kept()),
        }
        private = [*_secrets(world).values(), *world.rig.private]
        found = [place for place, text in shown.items() if any(one in text for one in private)]
        assert not found, f"a secret or a whole account number is shown in {found}"

    def test_a_broken_line_quotes_no_secret(self, world: World) -> None:
        needs_look_up(world)
        private = [*_secrets(world).values(), *world.rig.private]
        for fault in (Fault.REFUSED, Fault.LOST_REQUEST):
            with world.during(fault):
                said: list[Any] = [
                    world.connector.send(world.order()),
                    world.connector.look_up("0"),
                ]
            assert not any(isinstance(one, Done | Declined) for one in said), said
            assert not any(one in repr(said) for one in private), "a reason quotes what was sent"


def _secrets(world: World) -> dict[str, str]:
    return {name: str(world.rig.settings()[name]) for name in world.rig.credentials}


def _other(value: str) -> str:
    """Of the same form, and nobody's."""
    return value[:-4] + ("0000" if value[-4:] != "0000" else "1111")


def _kept() -> list[str]:
    """Every text that people and logs may see. Bodies are kept apart, and masked where shown."""
    rows = [
        *Evidence.objects.values_list("detail", "provider_status", "recipient", "provider_id"),
        *Transition.objects.values_list("reason", "actor"),
        *CaseAction.objects.values_list("note", "actor"),
    ]
    return [str(text) for row in rows for text in row]
