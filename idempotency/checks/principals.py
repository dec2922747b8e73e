"""Views that a request with a key can never pass, because nobody is there whose key it could be."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning

from idempotency import conf, routes
from idempotency.checks.rest import rest_setting
from idempotency.routes import Guarded


def check_principals(**_: object) -> Sequence[CheckMessage]:
    """E013 and W013 for REST framework's views, with the default SCOPE. Another one may know better."""
    if conf.current().scope != conf.Settings().scope:
        return []
    found = [message for each in routes.guarded() for message in _each(each)]
    return list({(message.id, message.msg): message for message in found}.values())


def _each(guarded: Guarded) -> Iterator[CheckMessage]:
    where = f"{guarded.guard.operation} ({guarded.route!r})"
    hint = (
        "Name an authentication class; or set IDEMPOTENCY['SCOPE'] to a function that finds another "
        "principal in the request (an API key, a tenant). Never one bucket for everybody."
    )
    if rest_setting(guarded, "authentication_classes", asked="get_authenticators") == []:
        yield Error(
            f"{where} authenticates nobody, so each request with a key is answered 401.",
            hint=hint,
            id="idempotency.E013",
        )
    elif _lets_anybody_in(rest_setting(guarded, "permission_classes", asked="get_permissions")):
        yield CheckWarning(
            f"{where} lets anonymous callers in, but each of their requests with a key is answered "
            "401: nobody is there whose key it could be.",
            hint=hint,
            id="idempotency.W013",
        )


def _lets_anybody_in(permissions: list[Any] | None) -> bool:
    if permissions is None:
        return False
    return all(getattr(each, "__name__", "") == "AllowAny" for each in permissions)
