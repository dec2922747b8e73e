"""The API describes itself without a warning, and as it answers."""

import pytest
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator

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
