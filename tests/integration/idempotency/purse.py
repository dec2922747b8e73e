"""What tests of tokens share: a handler that spends one, tokens of two people, and where they are kept."""

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import JsonResponse

from idempotency import (
    redis_client,
    timeline,
    tokens,
)
from tests.integration.idempotency.conftest import ADA
from tests.integration.idempotency.stage import Stage, effect, effects
from tests.integration.idempotency.views import Principal

BOUND: dict[str, tokens.Bindable] = {"amount": 10_000, "payee": "0123456789", "bank": None}
TWICE = "one token did its work twice: is consumed_token's primary key there?"
MARKER = "Idempotent-Replayed"


@pytest.fixture(autouse=True)
def with_tokens(settings: Any) -> None:
    settings.IDEMPOTENCY = {"CACHE": "default", "TOKENS": "default"}


@pytest.fixture(name="pays")
def paying(stage_: Stage) -> Stage:
    """A handler that spends the token of the header, then has its effect."""
    stage_.act = spending()
    return stage_


def spending(
    *, then: Exception | None = None, bound: Any = BOUND, purpose: str = "transfer"
) -> Callable[[Any], JsonResponse]:
    def act(request: Any) -> JsonResponse:
        sent = request.headers.get("X-Token", "")
        tokens.spend(sent, claim=request.idempotency, purpose=purpose, bound=bound)
        effect(request)
        if then is not None:
            raise then
        return JsonResponse({"n": effects()}, status=201)

    return act


def issued(user: Any = ADA, *, lifetime: timedelta | None = None) -> str:
    asked = SimpleNamespace(user=Principal(user))
    return tokens.issue(asked, purpose="transfer", bound=BOUND, lifetime=lifetime).token


def redis() -> Any:
    return redis_client.client("default")


def entry(token: str) -> str:
    name = f"token:{timeline.current()}:{tokens.digest_of(token)}"
    return redis_client.name("default", name)


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]
