"""The claim that a handler runs under: whose request it is, which key names it, what was asked."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from uuid import UUID, uuid4

from django.db import NotSupportedError, ProgrammingError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

from idempotency import (
    bodies,
    clients,
    conf,
    contract,
    signals,
    store,
    timeline,
    transactions,
)
from idempotency import key as keys
from idempotency.errors import KeyMissing, Unauthenticated
from idempotency.fingerprint import Part, Request, of_request, version_of
from idempotency.rows import Row

log = logging.getLogger("idempotency")

R = TypeVar("R", bound=HttpResponseBase)


@dataclass(slots=True)
class Claim:
    """`request.idempotency` inside a guarded handler."""

    scope: UUID
    key: str
    operation: str
    fingerprint: str
    deferred: HttpResponseBase | None = field(default=None, repr=False)
    then: Callable[[], HttpResponseBase | None] | None = field(default=None, repr=False)
    asked: Request | None = field(default=None, repr=False)  # None: no request, a sweep
    observed: bool = False  # the client sent no key; this one was made for it and is told to nobody
    timeline: str | None = field(default=None, repr=False)  # of the database, before the claim

    @property
    def reference(self) -> str:
        """The stable public name of what this key asks for: 32 hex, the same on every retry."""
        return keys.reference_of(self.scope, self.key)

    def fingerprint_like(self, stored: str) -> str:
        """This request's fingerprint in the version of a stored one, to be compared with it.

        Raises VersionUnknown for one that a later release has stored.
        """
        version = version_of(stored)
        if self.asked is None or version == version_of(self.fingerprint):
            return self.fingerprint
        return of_request(self.asked, version=version)

    def defer(self, response: R, *, then: Callable[[], HttpResponseBase | None] | None = None) -> R:
        """Leave the outcome open: return what this returns, as the handler's provisional answer.

        The business rows commit, the key stays in progress without a lease and is never taken
        over, the answer is not stored. Whoever learns the outcome calls `idempotency.complete()`.

        `then` runs after the commit, outside any transaction, and may wait there: a response that
        it returns is sent instead. None, or an exception, which is logged: the provisional one.
        """
        self.deferred, self.then = response, then
        return response


def claim_of(request: object) -> Claim:
    """`request.idempotency` with its type, for code that is checked.

    Raises LookupError outside a guarded handler, and where an optional key is absent.
    """
    match getattr(request, "idempotency", None):
        case Claim() as claim:
            return claim
    raise LookupError("This request has no claim: its handler is not guarded, or has no key.")


def read(request: Any, *, http: HttpRequest, operation: str, required: bool) -> Claim | None:
    """The claim that a request makes; None if it has no key and needs none.

    While OBSERVE is on, a request that should have a key and has none is given one. Raises the
    error that the client gets: KeyMissing, KeyInvalid, BodyTooLarge, BodyInvalid or
    Unauthenticated. Nothing is stored here.
    """
    try:
        key = keys.parse(http.META.get("HTTP_IDEMPOTENCY_KEY"))
    except KeyMissing:
        observed = required and conf.current().observe
        _absent(http, operation=operation, refused=required and not observed)
        if observed:
            return _observed(request, http=http, operation=operation)
        if required:
            raise
        return None
    whose = scope(request)
    asked = _asked(http, body=bodies.read(http))
    return Claim(whose, key, operation, of_request(asked), asked=asked)


def on_record(claim: Claim) -> contract.Decision | None:
    """What is committed under the key already; None: nothing that can be seen.

    A first request pays this round trip so that everybody else pays only this one: replays, and
    whoever meets a held, deferred or reused key, open no transaction and take no lock. They are
    few until something breaks, and then they come all at once.
    """
    found = transactions.first_look(store.alias(None), lambda: _look(claim))
    claim.timeline = found.timeline
    if found.timeline is not None:
        timeline.learn(found.timeline)
    return None if found.row is None else _decided(claim, found.row)


def standing(claim: Claim) -> contract.Decision:
    """What stands in the claim's way. Always a later statement, which alone sees that."""
    row = store.read(claim.scope, claim.key)
    if row is None:
        return contract.InProgress()
    return _decided(claim, row)


def authenticated_user(request: Any) -> object:
    """The default SCOPE: the primary key of the authenticated user, or None."""
    user = getattr(request, "user", None)
    return user.pk if user is not None and user.is_authenticated else None


def _look(claim: Claim) -> store.Look:
    cached = conf.current().cache is not None and timeline.is_told()
    try:
        return store.look(claim.scope, claim.key, cached=cached)
    except (NotSupportedError, ProgrammingError):
        if not cached:
            raise
        timeline.refused()
        return store.look(claim.scope, claim.key, cached=False)


def _decided(claim: Claim, row: Row) -> contract.Decision:
    """From here on the claim speaks of its request as the record does. Raises VersionUnknown."""
    claim.fingerprint = claim.fingerprint_like(row.record.fingerprint)
    return contract.decide(row.record, fingerprint=claim.fingerprint, now=row.now)


def scope(request: Any) -> UUID:
    """Whose keys and tokens these are, as SCOPE says. Raises Unauthenticated for nobody."""
    identity = import_string(conf.current().scope)(request)
    identity = getattr(identity, "pk", identity)  # two users may have one name, their text
    # One bucket for everybody unknown would hand out strangers' answers; a lazy None equals None.
    if identity in (None, ""):
        raise Unauthenticated
    return keys.scope_of(identity)


def _observed(request: Any, *, http: HttpRequest, operation: str) -> Claim:
    """A claim that stands in nobody's way, so that the handler runs as it will after the roll-out.

    The body is left alone: what only the comparison with a retry would refuse must not be refused.
    """
    key = f"unkeyed-{uuid4()}"
    print_ = of_request(replace(_asked(http, body=key.encode()), content_type=""))
    return Claim(scope(request), key, operation, print_, observed=True)


def _absent(http: HttpRequest, *, operation: str, refused: bool) -> None:
    client = clients.label_of(http)
    about = {"action": "key_absent", "operation": operation, "client": client, "refused": refused}
    log.info("request without a key", extra=about)
    signals.key_absent.send_robust(sender=operation, client=client, refused=refused, request=http)


def _asked(http: HttpRequest, *, body: bytes | list[Part]) -> Request:
    return Request(
        method=http.method or "",
        path=http.path,
        query=http.META.get("QUERY_STRING", ""),
        content_type=http.META.get("CONTENT_TYPE", ""),
        body=body,
    )
