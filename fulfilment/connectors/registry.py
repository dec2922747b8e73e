"""The configured connectors by name, each built with its own settings."""

import logging
from typing import cast

from django.utils.module_loading import import_string

from fulfilment.conf import conf
from fulfilment.connectors.base import Connector
from fulfilment.connectors.missing import Missing
from fulfilment.connectors.secrets import with_files
from fulfilment.errors import UnknownConnector

log = logging.getLogger(__name__)


def connector(name: str) -> Connector:
    """The connector `name`, or a `Missing` where it cannot be built.

    Payments outlive settings: a row of a connector that is gone must still reach a person.
    """
    try:
        return build(name)
    except Exception as error:  # noqa: BLE001  # a connector may raise anything here
        why = type(error).__name__  # `manage.py check` says it in full, once
        log.error(  # noqa: TRY400  # asked for at every look at every row
            "connector cannot be built",
            extra={"action": "connector_broken", "connector": name, "error": why},
        )
        return Missing(reason=f"the connector cannot be built: {why}")


def can_be_used(name: str) -> bool:
    """Is there a connector of this name, and can it be built?"""
    return not isinstance(connector(name), Missing)


def build(name: str) -> Connector:
    """The connector `name`, as `FULFILMENT["CONNECTORS"]` has it; raises whatever its class does.

    Built for every use: it holds no connection, and what it is built from may be overridden or, in
    a file (`SECRET_FILE` for `SECRET`), replaced. `CLASS` is a dotted path or, in tests, the class
    itself. Raises `UnknownConnector` where there is no such name.
    """
    settings = conf().connectors.get(name)
    if settings is None:
        raise UnknownConnector(f"No connector {name!r} is configured.")
    given = settings["CLASS"]
    made = import_string(given) if isinstance(given, str) else given
    built = cast("Connector", made(with_files(settings)))
    built.capabilities  # noqa: B018  # read here, for it may be built from settings too
    return built
