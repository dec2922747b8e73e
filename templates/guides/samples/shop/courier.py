"""The courier's API. It books a parcel once per reference, whoever asks how often."""

import json
from datetime import timedelta
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from django.conf import settings

from idempotency import NothingHappened, OutcomeUnknown


def book(reference: str, *, sku: str, deadline: timedelta) -> dict[str, Any]:
    """The parcel. Raises NothingHappened, or OutcomeUnknown where nobody can tell."""
    return _changed("POST", f"/parcels/{reference}", deadline, sku=sku)


def recall(parcel: str, *, deadline: timedelta = timedelta(seconds=10)) -> dict[str, Any]:
    """Call a parcel back. Raises as `book`."""
    return _changed("POST", f"/recalls/{parcel}", deadline)


def find(reference: str) -> dict[str, Any] | None:
    """The parcel of that reference; None if there is none. Raises OSError if nobody can say."""
    try:
        return _called("GET", f"/parcels/{reference}", timedelta(seconds=5))
    except HTTPError as error:
        if error.code == HTTPStatus.NOT_FOUND:
            return None
        raise


def _changed(method: str, path: str, deadline: timedelta, **body: Any) -> dict[str, Any]:
    try:
        return _called(method, path, deadline, **body)
    except (OSError, ValueError) as error:
        if isinstance(getattr(error, "reason", None), ConnectionRefusedError):
            raise NothingHappened from error  # proof: nobody was there to hear of it
        raise OutcomeUnknown(type(error).__name__) from error  # a time-out is no proof of anything


def _called(method: str, path: str, deadline: timedelta, **body: Any) -> dict[str, Any]:
    data = json.dumps(body).encode() if method == "POST" else None
    request = Request(settings.COURIER_URL + path, data=data, method=method)
    with urlopen(request, timeout=deadline.total_seconds()) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
