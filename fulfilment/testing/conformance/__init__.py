"""One suite for every connector: the same faults, the same rules, the provider's own books.

    class TestMyBank(Conformance):
        connector = MyBank
        provider = staticmethod(my_bank_on_loopback)  # a context manager that gives a `Rig`

Needs pytest and pytest-django. `fulfilment/connectors/ADDING.md` says what a rig is made of.
"""

import pytest

# Before they are imported: an assertion then says what it saw.
for _theme in ("sending", "saying", "asking", "events", "promises", "secrecy", "world"):
    pytest.register_assert_rewrite(f"{__name__}.{_theme}")

from fulfilment.testing.conformance.faults import Fault  # noqa: E402
from fulfilment.testing.conformance.http_rig import HttpRig  # noqa: E402
from fulfilment.testing.conformance.line import Line  # noqa: E402
from fulfilment.testing.conformance.rig import Hooks, Rig  # noqa: E402
from fulfilment.testing.conformance.suite import Conformance, without_conformance  # noqa: E402
from fulfilment.testing.conformance.world import NAME, World, world  # noqa: E402

__all__ = [
    "NAME",
    "Conformance",
    "Fault",
    "Hooks",
    "HttpRig",
    "Line",
    "Rig",
    "World",
    "without_conformance",
    "world",
]
