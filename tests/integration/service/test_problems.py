"""Every error of the API is a problem that a client can act on, never a bare page."""

import json

import pytest
from django.test import Client

from idempotency.problems import registered
from ledgerline.bank.models import User
from ledgerline.tokens import issue

pytestmark = pytest.mark.django_db


@pytest.fixture
def token() -> dict[str, str]:
    return {"Authorization": f"Bearer {issue(User.objects.create_user('ada'))}"}


@pytest.mark.parametrize(
    ("method", "path", "content_type", "body", "status", "code"),
    [
        ("get", "/v1/nothing", "", "", 404, "not_found"),
        ("get", "/v1/transfers/00000000-0000-0000-0000-000000000000", "", "", 404, "not_found"),
        ("put", "/v1/transfers", "application/json", "{}", 405, "method_not_allowed"),
        ("post", "/v1/transfers", "application/json", "{", 400, "body_invalid"),
        ("post", "/v1/transfers", "application/json", "{}", 400, "invalid"),
        ("post", "/v1/transfers", "text/plain", "{}", 415, "unsupported_media_type"),
    ],
)
def test_an_error_is_a_problem_with_code_and_advice(
    method, path, content_type, body, status, code, token
) -> None:
    headers = token | {"Idempotency-Key": "k"}
    answer = getattr(Client(), method)(path, body, content_type=content_type, headers=headers)
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    said = json.loads(answer.content)
    assert said["code"] == code
    assert said["status"] == status
    assert said["retry"] in {"same_key", "new_key", "after", "never"}
    assert isinstance(said["safe_new_key"], bool)
    assert said["detail"], "a problem says what to do next"


def test_without_credentials_a_401_names_the_scheme() -> None:
    answer = Client().get("/v1/transfers")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert json.loads(answer.content)["code"] == "unauthenticated"


def test_a_bug_is_a_problem_that_keeps_the_key(token, monkeypatch) -> None:
    from ledgerline.bank import transfers

    monkeypatch.setattr(transfers, "make", lambda order, claim: 1 / 0)
    body = {"toAccount": "0123456789", "amount": 1, "currency": "NGN"}
    answer = Client(raise_request_exception=False).post(
        "/v1/transfers",
        body,
        content_type="application/json",
        headers=token | {"Idempotency-Key": "k"},
    )
    assert answer.status_code == 500
    said = json.loads(answer.content)
    assert (said["code"], said["retry"]) == ("internal_error", "same_key")


def test_outside_the_api_an_error_is_a_page() -> None:
    answer = Client().get("/nothing")
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/html")


def test_the_type_of_every_problem_is_a_page_that_explains_it() -> None:
    browser = Client()
    for code, kind in registered().items():
        page = browser.get(f"/problems/{code}/")
        assert page.status_code == 200, f"the page of {code} is missing"
        assert kind.title.encode() in page.content or code.encode() in page.content
