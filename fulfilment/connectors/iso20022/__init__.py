"""Credit transfers at a bank that speaks ISO 20022 over HTTP: pain.001 out, its messages fetched."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fulfilment.connectors.iso20022.connector import Iso20022Connector

__all__ = ["Iso20022Connector"]


def __getattr__(name: str) -> Any:
    """Imported on first use: it needs the extra `iso20022`."""
    if name not in __all__:
        raise AttributeError(name)
    from fulfilment.connectors.iso20022 import connector

    return connector.Iso20022Connector
