"""The sandbox: two connectors, a desk for checkouts, and the provider they talk to (`provider`)."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fulfilment.connectors.sandbox.checkouts import CheckoutDesk
    from fulfilment.connectors.sandbox.connector import AirtimeConnector, SandboxConnector

__all__ = ["AirtimeConnector", "CheckoutDesk", "SandboxConnector"]


def __getattr__(name: str) -> Any:
    """Imports them on first use: the provider's process shares none of their code."""
    if name not in __all__:
        raise AttributeError(name)
    from fulfilment.connectors.sandbox import checkouts, connector

    return getattr(checkouts if name == "CheckoutDesk" else connector, name)
