"""Bearer tokens of the API: signed, short-lived, checked without asking the database (RFC 7519).

A token says who calls, nothing else. What must stop at once (a frozen user) is checked where the
money moves, so a token that is still valid cannot outrun it. Tokens are never logged.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal
from uuid import UUID

import jwt
from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

if TYPE_CHECKING:
    from ledgerline.bank.models import User

ALGORITHM = "HS256"
ISSUER = "ledgerline"
AUDIENCE = "ledgerline-api"
# Clocks of two of our own hosts may differ by this much.
LEEWAY = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls: the user's id as the token says it. No row was read."""

    pk: UUID
    is_authenticated: Literal[True] = True

    def __str__(self) -> str:
        return f"user:{self.pk}"


def issue(user: "User", *, lifetime: timedelta | None = None) -> str:
    """A token that speaks for `user` until `lifetime` (default `TOKEN_LIFETIME`) is over."""
    now = datetime.now(UTC)
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": str(user.pk),
        "iat": now,
        "exp": now + (settings.TOKEN_LIFETIME if lifetime is None else lifetime),
    }
    return jwt.encode(claims, settings.TOKEN_SECRET, algorithm=ALGORITHM)


def read(token: str) -> Principal:
    """The principal that a token names.

    Raises `AuthenticationFailed` with a sentence that says what to do, and nothing of the token.
    """
    try:
        claims = jwt.decode(
            token,
            settings.TOKEN_SECRET,
            algorithms=[ALGORITHM],
            audience=AUDIENCE,
            issuer=ISSUER,
            leeway=LEEWAY,
            options={"require": ["iss", "aud", "sub", "iat", "exp"]},
        )
        return Principal(UUID(claims["sub"]))
    except jwt.ExpiredSignatureError:
        raise AuthenticationFailed("The token has expired; sign in again for a new one.") from None
    except (jwt.InvalidTokenError, ValueError):
        raise AuthenticationFailed("The token is not one of ours, or was changed.") from None


class BearerToken(BaseAuthentication):
    """DRF authentication by `Authorization: Bearer <token>` (RFC 6750)."""

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        """The principal; None without a bearer token; `AuthenticationFailed` for a bad one."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        return read(token.strip()), None

    def authenticate_header(self, request: Request) -> str:
        """What a 401 carries, so that a client knows how to sign in."""
        return 'Bearer realm="ledgerline"'
