"""The API describes itself without a warning, and as it answers."""

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

from ledgerline.bank.models import Account
from tests.integration.bank.phone import Phone


@pytest.fixture(scope="module")
def schema() -> dict:
    with GENERATOR_STATS.silence():
        GENERATOR_STATS.reset()
        made = SchemaGenerator().get_schema(request=None, public=True)
        found = [*GENERATOR_STATS._error_cache, *GENERATOR_STATS._warn_cache]
    assert not found, f"the schema is not what the views do: {found}"
    return made


def shape(schema: dict, path: str, method: str, status: str) -> list[str]:
    content = schema["paths"][path][method]["responses"][status]["content"]
    return list(content["application/json"]["schema"]["properties"])


def test_answers_have_the_fields_that_the_schema_names(
    schema: dict, ada: Account, bola: Account
) -> None:
    phone = Phone(ada)
    assert shape(schema, "/v1/transfers", "post", "201") == list(phone.pay().json())
    confirmed = phone.confirm().json()
    assert shape(schema, "/v1/transfer-confirmations", "post", "201") == list(confirmed)
    page = phone.list("/v1/transfers")
    assert shape(schema, "/v1/transfers", "get", "200") == list(page)
    assert shape(schema, "/v1/transfers/{id}", "get", "200") == list(page["transfers"][0])
    assert shape(schema, "/v1/payments", "post", "201") == shape(
        schema, "/v1/payments/{id}", "get", "200"
    )
    assert shape(schema, "/v1/accounts", "get", "200") == ["accounts"]
    assert shape(schema, "/v1/accounts/{number}/entries", "get", "200") == ["entries", "next"]


def test_an_amount_is_described_as_a_whole_number(schema: dict) -> None:
    amount = schema["components"]["schemas"]["OrderFields"]["properties"]["amount"]
    assert (amount["type"], amount["minimum"], amount["maximum"]) == ("integer", 1, 2**63 - 1)


def test_the_schema_is_served_to_everybody(db: None) -> None:
    assert Client().get("/v1/schema/").status_code == 200


NOBODY = "00000000-0000-0000-0000-000000000000"


def posts(schema: dict) -> Iterator[tuple[str, dict]]:
    for path, methods in schema["paths"].items():
        unsafe = set(methods) & {"post", "put", "patch", "delete"}
        assert unsafe <= {"post"}, f"nobody asks about {unsafe} of {path}"
        if unsafe and path.startswith("/v1/") and "/webhooks/" not in path:
            yield path, methods["post"]


def fits(schema: dict, path: str, answer: Any) -> None:
    """The problem is one that the operation names, whole."""
    operation = schema["paths"][path]["post"]["responses"][str(answer.status_code)]
    named = operation["content"]["application/problem+json"]["schema"]
    jsonschema.validate(answer.json(), {**named, "components": schema["components"]})


def test_the_schema_is_valid(schema: dict) -> None:
    validate_schema(schema)


def test_whatever_wants_a_key_says_so_and_nothing_else_does(schema: dict, ada: Account) -> None:
    """Asked of the service itself: an operation without its key is sent to each."""
    phone = Phone(ada)
    wanting = 0
    for path, operation in posts(schema):
        answer = phone.post(path.format_map({"id": NOBODY}))
        wants = answer.status_code == 400 and answer.json()["code"] == "key_missing"
        marked = operation.get("x-idempotent", {}).get("required", False)
        assert marked == wants, f"{path}: marked {marked}, and answered {answer.content!r}"
        wanting += wants
    assert wanting >= 2


def test_problems_are_the_ones_that_the_schema_names(schema: dict, ada: Account) -> None:
    phone = Phone(ada)
    path = "/v1/transfers"
    answers = [
        phone.post(path),
        phone.pay(key="a,b"),
        phone.pay({"amount": "x"}, key="k1"),
        phone.pay({"toAccount": "9999999999", "amount": 1, "currency": "NGN"}, key="k2"),
        phone.pay({"toAccount": "9999999999", "amount": 2, "currency": "NGN"}, key="k2"),
    ]
    assert [answer.status_code for answer in answers] == [400, 400, 400, 400, 422]
    for answer in answers:
        fits(schema, path, answer)
    with pytest.raises(jsonschema.ValidationError):
        fits(schema, "/v1/payments", answers[3])
