"""A token says who calls, for a while; nothing else passes."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import jwt
import pytest
from django.conf import settings
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.test import APIRequestFactory

from ledgerline import tokens


@dataclass
class Somebody:
    pk: UUID


ADA = Somebody(uuid4())


def call(authorization: str | None) -> tokens.Principal | None:
    headers = {} if authorization is None else {"Authorization": authorization}
    found = tokens.BearerToken().authenticate(APIRequestFactory().get("/", headers=headers))
    return found and found[0]


def test_a_token_speaks_for_its_user_without_a_database() -> None:
    caller = call(f"Bearer {tokens.issue(ADA)}")
    assert caller is not None
    assert (caller.pk, caller.is_authenticated, str(caller)) == (ADA.pk, True, f"user:{ADA.pk}")


def test_a_token_lives_as_long_as_the_setting_says(settings) -> None:
    claims = jwt.decode(
        tokens.issue(ADA), options={"verify_signature": False}, algorithms=[tokens.ALGORITHM]
    )
    assert claims["exp"] - claims["iat"] == settings.TOKEN_LIFETIME.total_seconds()


def test_an_expired_token_says_so() -> None:
    with pytest.raises(AuthenticationFailed, match="has expired"):
        call(f"Bearer {tokens.issue(ADA, lifetime=timedelta(minutes=-1))}")


def forged(
    *, secret: str = settings.TOKEN_SECRET, algorithm: str = "HS256", **changes: object
) -> str:
    now = datetime.now(UTC)
    claims = {
        "iss": tokens.ISSUER,
        "aud": tokens.AUDIENCE,
        "sub": str(ADA.pk),
        "iat": now,
        "exp": now + timedelta(minutes=5),
    } | changes
    stated = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(stated, secret, algorithm=algorithm)


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(lambda: "", id="empty"),
        pytest.param(lambda: "not.a.token", id="no token"),
        pytest.param(lambda: forged(secret="x" * 40), id="another secret"),
        pytest.param(lambda: forged(secret="x" * 64, algorithm="HS512"), id="another algorithm"),
        pytest.param(lambda: forged(secret="", algorithm="none"), id="unsigned"),
        pytest.param(lambda: forged(iss="somebody"), id="another issuer"),
        pytest.param(lambda: forged(aud="somewhere"), id="another audience"),
        pytest.param(lambda: forged(sub="ada"), id="subject is no id"),
        pytest.param(lambda: forged(sub=None), id="no subject"),
        pytest.param(lambda: forged(exp=None), id="for ever"),
        pytest.param(lambda: forged(iat=datetime.now(UTC) + timedelta(hours=1)), id="not yet"),
        pytest.param(lambda: tokens.issue(ADA)[:-2], id="cut off"),
        pytest.param(lambda: "é\x00", id="odd bytes"),
    ],
)
def test_what_is_no_token_of_ours_is_refused_without_repeating_it(token) -> None:
    text = token()
    with pytest.raises(AuthenticationFailed) as refusal:
        call(f"Bearer {text}")
    assert not text or text not in str(refusal.value)


@pytest.mark.parametrize("authorization", [None, "", "Basic YWRhOmFkYQ==", "Token abc"])
def test_without_a_bearer_token_nobody_calls(authorization: str | None) -> None:
    assert call(authorization) is None


def test_a_401_names_the_scheme() -> None:
    header = tokens.BearerToken().authenticate_header(APIRequestFactory().get("/"))
    assert header.startswith("Bearer ")
