"""All themes in one class, and which connectors have it."""

import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, ClassVar

import pytest
from django.utils.module_loading import import_string

from fulfilment.conf import conf
from fulfilment.connectors.base import Connector
from fulfilment.connectors.missing import Missing
from fulfilment.testing.conformance.asking import Asking
from fulfilment.testing.conformance.events import Events
from fulfilment.testing.conformance.promises import Promises
from fulfilment.testing.conformance.rig import Rig
from fulfilment.testing.conformance.saying import Saying
from fulfilment.testing.conformance.secrecy import Secrecy
from fulfilment.testing.conformance.sending import Sending
from fulfilment.testing.conformance.world import World
from fulfilment.testing.conformance.world import world as machine


class Conformance(Sending, Saying, Asking, Events, Promises, Secrecy):
    """Subclass it per connector: name its class, and how its provider is started for the tests."""

    connector: ClassVar[Callable[[Mapping[str, Any]], Connector]]
    provider: ClassVar[Callable[[], AbstractContextManager[Rig]]]  # a staticmethod

    @pytest.fixture(scope="class")
    @classmethod
    def rig(cls) -> Iterator[Rig]:
        """One provider for all tests of a connector; references are never used twice."""
        with cls.provider() as rig:
            yield rig

    @pytest.fixture
    def world(self, rig: Rig, db: None) -> Iterator[World]:
        """The real machine, with this connector and this provider."""
        with machine(rig, type(self).connector) as made:
            yield made


def without_conformance(*packages: str) -> list[str]:
    """The connectors that no imported subclass of `Conformance` covers, by their dotted names.

    Those that are configured here, but for what comes with `fulfilment` and was judged there; and
    every class in `packages` that has what a connector has, configured or not.
    """
    covered = {each.connector for each in _below(Conformance) if hasattr(each, "connector")}
    found = {*_configured(), *(each for name in packages for each in _shipped(name))}
    return sorted(_name(each) for each in found if each not in covered)


def _below(parent: type) -> Iterator[Any]:
    for child in parent.__subclasses__():
        yield child
        yield from _below(child)


def _configured() -> Iterator[Any]:
    given = [entry["CLASS"] for entry in conf().connectors.values()]
    classes = [import_string(each) if isinstance(each, str) else each for each in given]
    return (each for each in classes if not _name(each).startswith("fulfilment."))


def _shipped(package: str) -> Iterator[type]:
    root = import_module(package)
    for module in pkgutil.walk_packages(root.__path__, f"{package}."):
        if "__main__" not in module.name and ".provider" not in module.name:
            found = import_module(module.name)
            own = (
                c
                for _, c in inspect.getmembers(found, inspect.isclass)
                if c.__module__ == module.name
            )
            yield from (c for c in own if c not in {Connector, Missing} and _speaks(c))


def _speaks(each: type) -> bool:
    return all(hasattr(each, name) for name in ("capabilities", "send", "look_up"))


def _name(each: Any) -> str:
    return f"{each.__module__}.{each.__qualname__}"
