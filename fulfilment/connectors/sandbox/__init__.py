"""The sandbox: a connector (`SandboxConnector`) and the provider it talks to (`provider`)."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fulfilment.connectors.sandbox.connector import SandboxConnector

__all__ = ["SandboxConnector"]


def __getattr__(name: str) -> Any:
    """Imports the connector on first use: the provider's process shares none of its code."""
    if name != "SandboxConnector":
        raise AttributeError(name)
    from fulfilment.connectors.sandbox.connector import SandboxConnector

    return SandboxConnector
