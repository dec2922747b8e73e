"""Which request asks for what: the API that callers pay through, and the desk's open drawers.

The API under /v1 wants the secret. All else is for tests and for people on this machine.
"""

import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from fulfilment.connectors.sandbox.provider import answers, order, pages
from fulfilment.connectors.sandbox.provider.answers import Answer
from fulfilment.connectors.sandbox.provider.calls import Call, Calls
from fulfilment.connectors.sandbox.provider.control import Control
from fulfilment.connectors.sandbox.provider.desk import Desk
from fulfilment.connectors.sandbox.provider.order import Product

_PRODUCTS = {
    "payments": Product.TRANSFER,
    "airtime": Product.AIRTIME,
    "checkouts": Product.CHECKOUT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request; header names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def path(self) -> str:
        """Without the query."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        """The last value of each name."""
        return dict(parse_qsl(urlsplit(self.target).query))

    def accepts(self, media_type: str) -> bool:
        """Does the caller name this type?"""
        return media_type in self.headers.get("accept", "")


class Routes:
    """Answers every request."""

    def __init__(self, desk: Desk, control: Control, *, secret: str, url: str) -> None:
        """`secret`: what callers must present. `url`: where the provider listens."""
        self._desk = desk
        self._control = control
        self._secret = secret
        self._url = url
        self._calls = Calls()

    def answer(self, request: Request) -> Answer:
        """The answer to one request; anything unknown is 404 `no_such_endpoint`."""
        for method, path, handle in _TABLE:
            found = path.fullmatch(request.path)
            if found and method == request.method:
                return _told(lambda: handle(self, request, *map(unquote, found.groups())))  # noqa: B023
        # Not `not_found`: a wrong address must never read as "no payment has this reference".
        return answers.error(404, "no_such_endpoint", "There is nothing at this address.")

    def pay(self, request: Request, name: str) -> Answer:
        """Asks for a transfer, for airtime or for a checkout."""
        return self._guarded(
            request,
            lambda call: self._desk.pay(order.read(request.body, product=_PRODUCTS[name]), call),
        )

    def look_up(self, request: Request, name: str, reference: str) -> Answer:
        """Asks what there is under a reference."""
        return self._guarded(
            request, lambda call: self._desk.look_up(_PRODUCTS[name], reference, call)
        )

    def books(self, request: Request) -> Answer:
        """The oracle: as a page, or as JSON for who asks for it."""
        statement = self._desk.statement() | {"calls": self._calls.listing()}
        if request.accepts("application/json") or request.query.get("format") == "json":
            return answers.of(statement)
        return pages.books(statement, faults=self._control.rules(), url=self._url)

    def show_checkout(self, request: Request, checkout_id: str) -> Answer:
        """The page at which a person pays."""
        checkout = self._desk.checkout(checkout_id)
        return pages.checkout(checkout) if checkout else _no_such_checkout()

    def pay_checkout(self, request: Request, checkout_id: str) -> Answer:
        """A person pressed the button. Back to the page, for a browser; paying twice is paying."""
        checkout = self._desk.pay_checkout(checkout_id)
        if checkout is None:
            return _no_such_checkout()
        if request.accepts("text/html"):
            return answers.see_other(f"/checkouts/{checkout.id}")
        return answers.found(checkout, url=self._url)

    def set_fault(self, request: Request) -> Answer:
        """Sets a fault."""
        return answers.of(self._control.set_fault(order.object_of(request.body)), status=201)

    def faults(self, request: Request) -> Answer:
        """The faults in force."""
        return answers.of({"faults": self._control.rules()})

    def clear_faults(self, request: Request) -> Answer:
        """Ends faults: all, or those that fit the query."""
        return answers.of({"removed": self._control.clear_faults(request.query)})

    def events(self, request: Request) -> Answer:
        """What was or will be reported; the query narrows it: id, type, reference."""
        return answers.of(self._control.events(request.query))

    def deliveries(self, request: Request) -> Answer:
        """The log of deliveries; the query narrows it: event_id, type, reference."""
        return answers.of(self._control.deliveries(request.query))

    def make_event(self, request: Request) -> Answer:
        """Makes any event and delivers it: once before this answers, then until it arrives."""
        return self._control.make_event(order.object_of(request.body))

    def deliver(self, request: Request, event_id: str) -> Answer:
        """Delivers an event so many times in the same instant; a list of statuses."""
        return self._control.deliver(event_id, times=request.query.get("times", "1"))

    def health(self, request: Request) -> Answer:
        """Is it up?"""
        return answers.of({"status": "ok"})

    def _guarded(self, request: Request, decide: Callable[[Call], Answer]) -> Answer:
        call = self._calls.open(request.method, request.target)
        given = request.headers.get("authorization", "").encode("latin-1")
        if hmac.compare_digest(given, f"Bearer {self._secret}".encode()):
            answer = _told(lambda: decide(call))
        else:
            answer = answers.error(401, "authentication_error", "The secret is not valid.")
        call.answer = answer.summary
        return answer


def _told(decide: Callable[[], Answer]) -> Answer:
    """What was decided, or why it could not be."""
    try:
        return decide()
    except order.InvalidRequest as error:
        return answers.error(400, "invalid_request", f"{error}.")
    except OSError:
        # Says "nothing begun" nowhere: the caller has to look it up.
        return answers.error(500, "api_error", "The books cannot be written.")


def _no_such_checkout() -> Answer:
    return answers.error(404, "not_found", "There is no such checkout.")


def _route(method: str, path: str, handle: Callable[..., Answer]) -> Any:
    return method, re.compile(path), handle


_TABLE = (
    _route("POST", r"/v1/(payments|airtime|checkouts)", Routes.pay),
    _route("GET", r"/v1/(payments|airtime|checkouts)/([^/]+)", Routes.look_up),
    _route("GET", r"/checkouts/([^/]+)", Routes.show_checkout),
    _route("POST", r"/checkouts/([^/]+)/pay", Routes.pay_checkout),
    _route("GET", r"/books", Routes.books),
    _route("GET", r"/faults", Routes.faults),
    _route("POST", r"/faults", Routes.set_fault),
    _route("DELETE", r"/faults", Routes.clear_faults),
    _route("GET", r"/events", Routes.events),
    _route("POST", r"/events", Routes.make_event),
    _route("POST", r"/events/([^/]+)/deliver", Routes.deliver),
    _route("GET", r"/deliveries", Routes.deliveries),
    _route("GET", r"/healthz", Routes.health),
)
