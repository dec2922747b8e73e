"""Single-use tokens: what a user has confirmed is carried out by one key, once.

    issued = tokens.issue(request, purpose="transfer", bound={"amount": 5000, "payee": "0123456789"})
    …
    tokens.spend(sent, claim=request.idempotency, purpose="transfer", bound={…the same…})

Redis turns a token into used-by-this-key in one step, so a retry after a rollback passes again;
reading and deleting it would lose it there. The row in `consumed_token` commits with the handler's
own writes and decides: a Redis that forgets, fails over or comes back from a snapshot cannot spend
a token twice. Neither of them holds a token, only digests.
"""

import hashlib
import hmac
import json
import logging
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeAlias
from uuid import UUID

from idempotency import claims, conf
from idempotency.tokens import store
from idempotency.tokens.errors import TokenUnknown

log = logging.getLogger("idempotency")

# What a token may be bound to. No float: an amount that passed through one is another amount.
Bindable: TypeAlias = str | int | None

PREFIX = "once_"  # lets scanners for leaked secrets find it, and people name it
_BYTES = 32  # 256 bits: nobody guesses one, and two are never the same
_FORM = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}", re.ASCII)


class Claimed(Protocol):
    """What a token takes from the claim of the request that spends it."""

    @property
    def scope(self) -> UUID: ...
    @property
    def reference(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token, for its user's eyes only, and until when it may be used first."""

    token: str = field(repr=False)
    expires_at: datetime  # by the clock of Redis, which judges it


def issue(
    request: Any,
    *,
    purpose: str,
    bound: Mapping[str, Bindable],
    lifetime: timedelta | None = None,
) -> Issued:
    """A token for the request's principal, good for one key that does exactly this.

    `bound` is what the user is shown: amount, currency, payee. The default of `lifetime` is
    TOKEN_LIFETIME. Raises Transient if Redis or the database does not answer, and
    ImproperlyConfigured without TOKENS.
    """
    token = PREFIX + secrets.token_urlsafe(_BYTES)
    seconds = conf.current().token_lifetime if lifetime is None else lifetime
    expires_at = store.keep(
        digest_of(token),
        owner=_owner(token, claims.scope(request), purpose),
        bound=_digests(token, bound),
        lifetime=seconds,
    )
    log.info("token issued", extra={"action": "token_issued", "purpose": purpose})
    return Issued(token, expires_at)


def spend(token: str, *, claim: Claimed, purpose: str, bound: Mapping[str, Bindable]) -> None:
    """Use the token for this key, or raise why not. Call it before anything is done.

    In an atomic handler it commits with the handler's writes. In a leased one it commits at once:
    call it before `sending()`. The same key may spend it again, so a retry is never refused for it.

    Raises TokenUnknown, TokenExpired, TokenMismatch or TokenUsed, of which nothing is stored, and
    Transient if Redis does not answer: nobody is waved through.
    """
    if not _FORM.fullmatch(token):
        raise TokenUnknown
    digest = digest_of(token)
    # Redis is asked inside the claim's transaction, and for as long as its time-out at most: before
    # the claim, a retry that only wants its answer would need it too. No row is locked but the key's.
    store.mark(
        digest,
        reference=claim.reference,
        owner=_owner(token, claim.scope, purpose),
        bound=_digests(token, bound),
    )
    store.consume(digest, scope=claim.scope, purpose=purpose, reference=claim.reference)
    log.info(
        "token spent",
        extra={"action": "token_spent", "purpose": purpose, "reference": claim.reference},
    )


def digest_of(token: str) -> str:
    """The name under which a token is kept: SHA-256, 64 hex characters."""
    return hashlib.sha256(b"idempotency/token/v1\n" + token.encode()).hexdigest()


def _owner(token: str, scope: UUID, purpose: str) -> str:
    return _keyed(token, f"owner\n{scope}\n{purpose}")


def _digests(token: str, bound: Mapping[str, Bindable]) -> dict[str, str]:
    """Keyed with the token itself: an amount alone is guessed from its digest within seconds."""
    return {
        name: _keyed(token, f"bound\n{name}\n{_written(value)}") for name, value in bound.items()
    }


def _written(value: Bindable) -> str:
    if value is not None and type(value) not in {str, int}:
        raise TypeError(
            f"a token is bound to text and whole numbers, not to {type(value).__name__}"
        )
    return json.dumps(value)


def _keyed(token: str, text: str) -> str:
    return hmac.new(token.encode(), text.encode(), hashlib.sha256).hexdigest()
