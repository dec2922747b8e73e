"""What every request must be free of, and what every response carries."""

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from ledgerline import problems

# No 'unsafe-inline' and no nonce: a note that a customer's text smuggled into a page for staff can
# run nothing and restyle nothing, and the pages work without scripts anyway.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "base-uri 'none'",  # a planted <base> would send every form elsewhere
        "form-action 'self'",
        "frame-ancestors 'none'",  # nobody puts our buttons under their own
        "object-src 'none'",
    )
)


class ContentSecurityPolicy:
    """Sets the policy on every response; a view that set its own keeps it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response


class RefuseNul:
    """Answers 400 to an address with a NUL: no row can hold one, and PostgreSQL refuses to compare it.

    First of all middleware, because any of them may look something up by a part of the address.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if _has_nul(request):
            return problems.bad_request(request, BadRequest("The address contains a NUL."))
        return self.get_response(request)


def _has_nul(request: HttpRequest) -> bool:
    query = request.META.get("QUERY_STRING", "")  # as it was sent: Django decodes it later
    return "%00" in query or "\0" in query or "\0" in request.path_info
