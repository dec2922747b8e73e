"""One suite for every connector: the same faults, the same rules, the provider's own books.

    class TestMyBank(Conformance):
        connector = MyBank

        @pytest.fixture(scope="class")
        def rig(self) -> Iterator[Rig]:
            with my_bank_on_loopback() as rig:
                yield rig

Needs pytest and pytest-django. `fulfilment/connectors/ADDING.md` says what a rig is made of.
"""

from fulfilment.testing.conformance.faults import Fault
from fulfilment.testing.conformance.rig import Hooks, Rig

__all__ = ["Fault", "Hooks", "Rig"]
