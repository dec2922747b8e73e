"""No connector without its conformance: neither one that is shipped nor one that is configured."""

from importlib import import_module
from pathlib import Path
from typing import Any

from fulfilment.connectors.sandbox import SandboxConnector
from fulfilment.testing.conformance import without_conformance

TESTS = Path(__file__).parents[2]


class Unproven(SandboxConnector):
    """Configured below, and judged by nobody."""


def judged() -> None:
    """Import every module of tests that subclasses the suite."""
    for path in TESTS.rglob("test_*.py"):
        if "(Conformance)" in path.read_text():
            import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))


def test_every_connector_is_held_to_the_suite() -> None:
    judged()
    missing = without_conformance("fulfilment.connectors")
    assert not missing, f"nobody has shown that {missing} keep what connectors promise: ADDING.md"


def test_one_that_is_shipped_and_not_configured_is_looked_for_as_well() -> None:
    assert f"{__name__}.Unproven" in without_conformance(__package__)


def test_a_configured_connector_that_nobody_judged_is_named(settings: Any) -> None:
    judged()
    settings.FULFILMENT = {"CONNECTORS": {"new": {"CLASS": Unproven}}}
    assert without_conformance() == [f"{__name__}.Unproven"]
