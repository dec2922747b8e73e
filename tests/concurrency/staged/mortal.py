"""A worker process that dies or freezes where a request says: its successor starts without that."""

import os
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

SAID = {"X-Kill-At": "IDEMPOTENCY_KILL_AT", "X-Stop-At": "IDEMPOTENCY_STOP_AT"}


class Mortal:
    """Sets the kill point of the process for one request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        for header, variable in SAID.items():
            os.environ.pop(variable, None)
            if header in request.headers:
                os.environ[variable] = request.headers[header]
        return self.get_response(request)
