"""The sandbox provider's API: where it is, and with which secret it is called."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote, urlsplit

from fulfilment.connectors import http
from fulfilment.connectors.base import NotSent, Unknown

LOOK_UP_DEADLINE: Final = timedelta(seconds=5)


class Api:
    """One collection of the provider: payments, airtime or checkouts."""

    def __init__(self, settings: Mapping[str, Any], *, collection: str) -> None:
        """Raises ValueError, without showing the secret, where URL or SECRET cannot be used."""
        self._url = f"{_base_url(settings)}/v1/{collection}"
        self._headers = {"Authorization": f"Bearer {_secret(settings)}"}
        self._look_up_deadline: timedelta = settings.get("LOOK_UP_DEADLINE", LOOK_UP_DEADLINE)

    def post(
        self, order: Mapping[str, Any], *, deadline: timedelta
    ) -> http.Reply | NotSent | Unknown:
        """Asks for something once, within `deadline`."""
        return http.call(
            "POST", self._url, deadline=deadline, headers=self._headers, json_body=order
        )

    def get(self, reference: str) -> http.Reply | NotSent | Unknown:
        """Asks what there is under `reference`; begins nothing."""
        url = f"{self._url}/{quote(reference, safe='')}"
        return http.call("GET", url, deadline=self._look_up_deadline, headers=self._headers)


def _base_url(settings: Mapping[str, Any]) -> str:
    url = str(settings.get("URL", "")).rstrip("/")
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).netloc:
        raise ValueError("the sandbox connector's URL must be an http(s) address")
    return url


def _secret(settings: Mapping[str, Any]) -> str:
    """A line break in a header is refused by the client with a message that quotes the header."""
    secret = str(settings.get("SECRET", ""))
    if not secret or not secret.isascii() or not secret.isprintable() or secret != secret.strip():
        raise ValueError("the sandbox connector's SECRET must be visible ASCII text")
    return secret
