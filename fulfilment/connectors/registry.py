"""The configured connectors by name, each built with its own settings."""

from typing import cast

from django.utils.module_loading import import_string

from fulfilment.conf import conf
from fulfilment.connectors.base import Connector
from fulfilment.errors import UnknownConnector


def connector(name: str) -> Connector:
    """The connector `name`, as `FULFILMENT["CONNECTORS"]` has it; raises `UnknownConnector`.

    Built for every use: it holds no connection, and what it is built from may be overridden.
    `CLASS` is a dotted path or, in tests, the class itself.
    """
    settings = conf().connectors.get(name)
    if settings is None:
        raise UnknownConnector(f"No connector {name!r} is configured.")
    given = settings["CLASS"]
    build = import_string(given) if isinstance(given, str) else given
    return cast("Connector", build(settings))
