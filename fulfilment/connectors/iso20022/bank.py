"""The bank's doors: one for files, one for questions, one for its messages."""

import base64
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote, urlsplit

from fulfilment.connectors import http
from fulfilment.connectors.base import NoInformation, NotSent, Unknown
from fulfilment.connectors.iso20022.letters import Letter

LOOK_UP_DEADLINE: Final = timedelta(seconds=5)
# Where the three doors are, as mock-bank has them. With `all` it names every payment of a reference.
PATHS: Final[Mapping[str, str]] = {
    "files": "/payments",
    "status": "/_mock/payments/{reference}?all",
    "mailbox": "/_mock/mailbox?leave",
}
_MAILBOX_DEADLINE: Final = timedelta(seconds=30)
_MAILBOX_BYTES: Final = 64 << 20  # all messages that wait, statements among them


class Bank:
    """One customer's access to the bank."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Raises ValueError, without showing the password, where the access cannot be used."""
        self._url = _base_url(settings)
        self._paths = dict(PATHS) | dict(settings.get("PATHS", {}))
        self._headers = _credentials(settings)
        self._look_up_deadline: timedelta = settings.get("LOOK_UP_DEADLINE", LOOK_UP_DEADLINE)

    def post(self, file: bytes, *, deadline: timedelta) -> http.Reply | NotSent | Unknown:
        """Hands in a file once, within `deadline`."""
        headers = {**self._headers, "Content-Type": "application/xml"}
        return http.call(
            "POST",
            f"{self._url}{self._paths['files']}",
            deadline=deadline,
            headers=headers,
            content=file,
        )

    def status(self, reference: str) -> http.Reply | NotSent | Unknown:
        """Asks what became of the payment with this end-to-end id; begins nothing."""
        path = self._paths["status"].replace("{reference}", quote(reference, safe=""))
        url = f"{self._url}{path}"
        return http.call("GET", url, deadline=self._look_up_deadline, headers=self._headers)

    def letters(self) -> Sequence[Letter] | NoInformation:
        """The messages in our mailbox, oldest first. They stay there: a crash can lose none.

        Emptying it is left to the bank's own retention.
        """
        reply = http.call(
            "GET",
            f"{self._url}{self._paths['mailbox']}",
            deadline=_MAILBOX_DEADLINE,
            headers=self._headers,
            max_body=_MAILBOX_BYTES,
        )
        if not isinstance(reply, http.Reply):
            return NoInformation(reason=reply.reason)
        listed = reply.json()
        if reply.status != 200 or not isinstance(listed, list):
            return NoInformation(reason=f"HTTP {reply.status} instead of the mailbox")
        return [letter for letter in map(_letter, listed) if letter is not None]


def _letter(listed: Any) -> Letter | None:
    match listed:
        case {"id": int(number), "type": str(kind), "releasedAt": str(at), "body": str(body)}:
            return Letter(
                name=f"{kind}/{number}/{at}", kind=kind, body=body.encode(errors="replace")
            )
    return None


def _base_url(settings: Mapping[str, Any]) -> str:
    url = str(settings.get("URL", "")).rstrip("/")
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).netloc:
        raise ValueError("the iso20022 connector's URL must be an http(s) address")
    return url


def _credentials(settings: Mapping[str, Any]) -> Mapping[str, str]:
    user, password = str(settings.get("USER", "")), str(settings.get("PASSWORD", ""))
    if not user or ":" in user or not user.isprintable():
        raise ValueError("the iso20022 connector's USER is missing or not a name")
    if not password or not password.isprintable() or password != password.strip():
        raise ValueError("the iso20022 connector's PASSWORD is missing or not visible text")
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {token}"}
