"""Where tokens are kept: the scripts that Redis runs in one step, and the table that decides."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from idempotency import conf, redis_client, store, timeline
from idempotency.errors import Transient
from idempotency.tokens.errors import (
    TokenExpired,
    TokenMismatch,
    TokenRefused,
    TokenUnknown,
    TokenUsed,
)

log = logging.getLogger("idempotency")

# How long an entry outlives its first use: a key whose transaction was rolled back may come again,
# and whoever is late is told that it is too late.
_REMEMBERED = timedelta(hours=1)

# Keep one token: ARGV is its lifetime, how long it is remembered after that (both ms), then names
# and digests. Its clock is the one that will judge it.
KEEP = """
local now = redis.call('TIME')
local expires = now[1] * 1000 + math.floor(now[2] / 1000) + tonumber(ARGV[1])
redis.call('HSET', KEYS[1], 'expires', string.format('%.0f', expires), unpack(ARGV, 3))
redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', expires + tonumber(ARGV[2])))
return expires
"""

# Turn a token into used-by-this-key, or say why not, in one step. ARGV is the reference of the key,
# the owner, then the bound names with their digests. Nothing is deleted: after a rollback in
# PostgreSQL the same key finds its mark and passes again.
MARK = """
local flat, held, differs = redis.call('HGETALL', KEYS[1]), {}, {}
for i = 1, #flat, 2 do held[flat[i]] = flat[i + 1] end
if held['owner'] ~= ARGV[2] then return {'unknown'} end
for i = 3, #ARGV, 2 do
    if held[ARGV[i]] ~= ARGV[i + 1] then table.insert(differs, ARGV[i]) end
    held[ARGV[i]] = nil
end
for name in pairs(held) do
    if string.sub(name, 1, 6) == 'bound:' then table.insert(differs, name) end
end
if #differs > 0 then return {'mismatch', unpack(differs)} end
if held['used_by'] == ARGV[1] then return {'ours'} end
if held['used_by'] then return {'used'} end
local now = redis.call('TIME')
if now[1] * 1000 + math.floor(now[2] / 1000) > tonumber(held['expires']) then return {'expired'} end
redis.call('HSET', KEYS[1], 'used_by', ARGV[1])
return {'ours'}
"""

# The arbiter. A token that another transaction is spending at this moment is waited for, at most as
# long as the claim's lock_timeout.
CONSUME = """
INSERT INTO consumed_token (digest, user_id, purpose, reference, consumed_at)
VALUES (%(digest)s, %(scope)s, %(purpose)s, %(reference)s, clock_timestamp())
    ON CONFLICT (digest) DO NOTHING
"""

# Who was first. A later statement: only its snapshot sees the row that made the insert do nothing.
CONSUMED_BY = "SELECT reference FROM consumed_token WHERE digest = %(digest)s"

_BOUND = "bound:"
_PREFIX = "token:"


def keep(digest: str, *, owner: str, bound: Mapping[str, str], lifetime: timedelta) -> datetime:
    """Keep a new token; returns when it expires. Raises Transient."""
    fields = [part for pair in _fields(bound) for part in pair]
    times = [_milliseconds(lifetime), _milliseconds(_REMEMBERED)]
    expires = _ask(KEEP, digest, [*times, "owner", owner, *fields])
    return datetime.fromtimestamp(int(expires) / 1000, UTC)


def mark(digest: str, *, reference: str, owner: str, bound: Mapping[str, str]) -> None:
    """Let Redis mark the token as this key's. Raises a TokenRefused or Transient."""
    fields = [part for pair in _fields(bound) for part in pair]
    verdict, *names = (_text(part) for part in _ask(MARK, digest, [reference, owner, *fields]))
    if verdict != "ours":
        raise _refused(verdict, names)


def consume(digest: str, *, scope: UUID, purpose: str, reference: str) -> None:
    """Write down that this key has used the token, in the caller's transaction. Raises TokenUsed."""
    values: dict[str, Any] = {
        "digest": digest,
        "scope": scope,
        "purpose": purpose,
        "reference": reference,
    }
    with connections[store.alias(None)].cursor() as cursor:
        cursor.execute(CONSUME, values)
        if cursor.rowcount == 0:
            cursor.execute(CONSUMED_BY, values)
            [first] = cursor.fetchone()
            if first != reference:
                raise TokenUsed


def forget_all() -> int:
    """Void every token, after a restored backup: who has used it may be lost. Returns how many.

    Raises what Redis raises where it is not there.
    """
    alias = conf.current().tokens
    return 0 if alias is None else redis_client.forget(alias, _PREFIX)


def _ask(script: str, digest: str, arguments: list[Any]) -> Any:
    alias = conf.current().tokens
    if alias is None:
        raise ImproperlyConfigured(
            "IDEMPOTENCY['TOKENS'] names no cache, so no token can be issued or checked."
        )
    # The timeline voids every token at a promotion, which may have lost who had used it.
    key = redis_client.name(alias, f"{_PREFIX}{timeline.current()}:{digest}")
    try:
        return redis_client.client(alias).register_script(script)(keys=[key], args=arguments)
    except redis_client.outages() as error:
        log.warning("token store not there", extra={"action": "tokens_unavailable"}, exc_info=True)
        raise Transient("Tokens cannot be kept or checked right now; nothing happened.") from error


def _fields(bound: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(f"{_BOUND}{name}", digest) for name, digest in bound.items()]


def _refused(verdict: str, names: list[str]) -> TokenRefused:
    if verdict == "mismatch":
        return TokenMismatch(differs=sorted(name.removeprefix(_BOUND) for name in names))
    return {"used": TokenUsed, "expired": TokenExpired}.get(verdict, TokenUnknown)()


def _milliseconds(duration: timedelta) -> int:
    return round(duration.total_seconds() * 1000)


def _text(part: Any) -> str:
    return part.decode() if isinstance(part, bytes) else str(part)
