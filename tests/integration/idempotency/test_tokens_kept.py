"""What is kept of a token, where, and for how long."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import caches
from django.db import IntegrityError, connection, transaction

from idempotency import (
    tokens,
)
from idempotency.models import ConsumedToken
from tests.integration.idempotency.conftest import ADA, BOLA, COMMITTING, Phone
from tests.integration.idempotency.purse import (
    entry,
    issued,
    paying,  # noqa: F401  a fixture
    redis,
    with_tokens,  # noqa: F401  a fixture
)
from tests.integration.idempotency.stage import Stage
from tests.integration.idempotency.views import Principal

pytestmark = COMMITTING


def test_neither_redis_nor_postgresql_holds_a_token_or_what_it_is_bound_to(
    ada: Phone, pays: Stage, key: str
) -> None:
    token = issued()
    ada.send(key, **{"X-Token": token})
    kept = f"{redis().hgetall(entry(token))} {entry(token)} {ConsumedToken.objects.values()}"
    assert str(ADA).replace("-", "") not in str(redis().hgetall(entry(token)))
    for secret in (token, token.removeprefix("once_"), "0123456789", "10000"):
        assert secret not in kept, f"{secret} can be read where it is kept"


def test_an_entry_is_forgotten_some_time_after_it_expired(ada: Phone) -> None:
    left = redis().pttl(entry(issued(lifetime=timedelta(minutes=5))))
    assert 60 * 60_000 < left <= 65 * 60_000, "a token is kept for ever, or forgotten too soon"


@pytest.mark.parametrize(
    "statement",
    ["UPDATE consumed_token SET reference = 'x'", "DELETE FROM consumed_token"],
)
def test_a_spent_token_stays_spent(ada: Phone, pays: Stage, key: str, statement: str) -> None:
    ada.send(key, **{"X-Token": issued()})
    with (
        pytest.raises(IntegrityError, match="a spent token stays spent"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    assert ConsumedToken.objects.get().user_id == ADA


def test_an_amount_never_passes_through_a_float() -> None:
    with pytest.raises(TypeError, match="not to float"):
        tokens.issue(
            SimpleNamespace(user=Principal(BOLA)),
            purpose="transfer",
            bound={"amount": 0.1},  # type: ignore[dict-item]
        )


@pytest.mark.parametrize("alias", ["nowhere", "files"])
def test_only_a_redis_may_keep_tokens(settings: Any, alias: str) -> None:
    from idempotency.checks import check_servers

    assert check_servers() == []
    files = {"BACKEND": "django.core.cache.backends.filebased.FileBasedCache", "LOCATION": "/x"}
    settings.CACHES = settings.CACHES | {"files": files}
    settings.IDEMPOTENCY = {"TOKENS": alias}
    [found] = check_servers()
    assert (found.id, alias in found.msg) == ("idempotency.E020", True)


def test_djangos_own_redis_cache_keeps_tokens_as_well(
    ada: Phone, pays: Stage, key: str, settings: Any
) -> None:
    plain = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": settings.REDIS_URL,
    }
    settings.CACHES = settings.CACHES | {"plain": plain}
    settings.IDEMPOTENCY = {"TOKENS": "plain"}
    assert ada.send(key, **{"X-Token": issued()}).status_code == 201
    assert caches["plain"]
