"""All themes in one class, and which connectors have it."""

import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, ClassVar

import pytest
from django.utils.module_loading import import_string

from fulfilment import connectors
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

_MEMBERS = ("capabilities", "send", "look_up")


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


def without_conformance() -> list[str]:
    """The connectors that are shipped or configured here and that no imported subclass covers."""
    covered = {each.connector for each in _below(Conformance) if hasattr(each, "connector")}
    return sorted(f"{c.__module__}.{c.__qualname__}" for c in _connectors() if c not in covered)


def _below(parent: type) -> Iterator[Any]:
    for child in parent.__subclasses__():
        yield child
        yield from _below(child)


def _connectors() -> set[Any]:
    given = {entry["CLASS"] for entry in conf().connectors.values()}
    return {*(import_string(c) if isinstance(c, str) else c for c in given), *_shipped()}


def _shipped() -> Iterator[type]:
    """Every class of `fulfilment.connectors` that has what a connector has."""
    for module in pkgutil.walk_packages(connectors.__path__, f"{connectors.__name__}."):
        if "__main__" in module.name or ".provider" in module.name:
            continue
        found = import_module(module.name)
        for _, each in inspect.getmembers(found, inspect.isclass):
            own = each.__module__ == found.__name__ and each not in {Connector, Missing}
            if own and all(hasattr(each, name) for name in _MEMBERS):
                yield each
