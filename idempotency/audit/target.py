"""Where the audit sends to: resolved once, so that what was asked about is what is connected to."""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit


class BadTarget(ValueError):
    """The address cannot be audited."""


@dataclass(frozen=True, slots=True)
class Target:
    """One endpoint; `address` is the host's, as it was looked up."""

    secure: bool
    host: str
    port: int
    path: str
    address: str

    @property
    def is_loopback(self) -> bool:
        """Nothing sent there leaves this machine."""
        return ipaddress.ip_address(self.address.split("%")[0]).is_loopback

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


def find(url: str) -> Target:
    """The endpoint behind an http or https URL.

    Raises BadTarget for another scheme, a broken URL, credentials in it, or a host that has no
    address.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise BadTarget(f"{url!r} is no URL: {error}.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadTarget(f"{url!r} is no http or https URL of an endpoint.")
    if parts.username is not None:
        raise BadTarget("Give credentials as a --header, not inside the URL.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or any(character <= " " for character in path):
        raise BadTarget("Write the URL's path in percent-encoded ASCII.")
    address = _address(parts.hostname, port)
    return Target(parts.scheme == "https", parts.hostname, port, path, address)


def _address(host: str, port: int) -> str:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise BadTarget(f"{host} has no address: {error}.") from None
    return str(found[0][4][0])
