"""A guarded call inside REST framework: the only module here that imports it.

Authentication, permissions and throttles have run when the handler is called, on every replay too.
"""

from dataclasses import dataclass

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.exceptions import ParseError, UnsupportedMediaType, ValidationError

from idempotency import calls, transactions
from idempotency.claims import Claim

UNREADABLE = (*calls.UNREADABLE, ParseError, UnsupportedMediaType, ValidationError)


@dataclass(slots=True)
class RestCall(calls.Call):
    """Renders answers and exceptions as the view itself would, so that their bytes are final."""

    unreadable: tuple[type[Exception], ...] = UNREADABLE

    @property
    def http(self) -> HttpRequest:
        """Django's request inside REST framework's: its body is taken before any parser."""
        request: HttpRequest = self.request._request  # noqa: SLF001  REST framework's documented way in
        return request

    def bind(self, claim: Claim | None) -> None:
        """Show the claim on both requests: middleware and permissions may look at either."""
        self.request.idempotency = self.http.idempotency = claim  # type: ignore[attr-defined]

    def explain(self, error: Exception) -> HttpResponseBase:
        """The view's own answer for the exception; an unknown one is raised again."""
        try:
            with transactions.kept():
                return self.rendered(self.view.handle_exception(error))
        except Exception as unknown:
            self._asked_about(unknown)
            raise

    def rendered(self, response: HttpResponseBase) -> HttpResponseBase:
        """The response after the view's `finalize_response`, which runs once more on its way out."""
        final = self.view.finalize_response(
            self.request, response, *self.view.args, **self.view.kwargs
        )
        render = getattr(final, "render", None)
        answer: HttpResponseBase = final if render is None else render()
        return answer

    def _asked_about(self, unknown: Exception) -> None:
        """The view would ask its handler a second time, which reports the error twice."""
        ask = self.view.handle_exception

        def handle_exception(error: Exception) -> HttpResponseBase:
            if error is unknown:
                raise error
            response: HttpResponseBase = ask(error)
            return response

        self.view.handle_exception = handle_exception
