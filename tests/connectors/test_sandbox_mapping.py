"""The mapping table against answers that no real provider process would give us."""

import json
from typing import Any

import pytest

from fulfilment.connectors.base import Done, NoInformation, Reversed, Unknown
from fulfilment.connectors.http import Reply
from fulfilment.connectors.sandbox import mapping

REFERENCE = "0123456789abcdef0123456789abcdef"
PAYMENT = {
    "id": "pay_1",
    "reference": REFERENCE,
    "status": "succeeded",
    "amount": 100_00,
    "currency": "NGN",
    "recipient": {"bank": "058", "account": "******6789"},
}

ODD: dict[str, tuple[int, Any]] = {
    "no JSON": (200, b"<html>It works!</html>"),
    "no object": (200, []),
    "empty": (201, b""),
    "bytes that are no text": (201, b"\xff\xfe{}"),
    "a status without a row": (201, PAYMENT | {"status": "pending"}),
    "a success under a failure's code": (402, PAYMENT),
    "a failure under a success's code": (201, PAYMENT | {"status": "failed"}),
    "somebody else's payment": (201, PAYMENT | {"reference": REFERENCE[::-1]}),
    "an amount as text": (201, PAYMENT | {"amount": "10000"}),
    "an amount as fraction": (201, PAYMENT | {"amount": 10000.0}),
    "an amount beyond our books": (201, PAYMENT | {"amount": 2**63}),
    "no currency": (201, PAYMENT | {"currency": None}),
    "no recipient": (201, PAYMENT | {"recipient": "058"}),
    "an id that no database takes": (201, PAYMENT | {"id": "pay\0"}),
    "a proxy's 401": (401, b"log in to the hotel's network"),
    "a proxy's 404": (404, {"error": "not found"}),
    "a bare 503": (503, b""),
    "a 503 of another type": (503, {"error": {"type": "unavailable"}}),
    "a 429": (429, {"error": {"type": "rate_limited"}}),
    "a redirect": (302, b""),
    "202": (202, PAYMENT | {"status": "processing"}),
    "a server error": (500, {"error": {"type": "api_error"}}),
}


def reply(status: int, body: Any) -> Reply:
    return Reply(status, {}, body if isinstance(body, bytes) else json.dumps(body).encode())


def test_the_documented_success_is_done() -> None:
    """The row that all odd ones below differ from."""
    assert isinstance(mapping.sent(reply(201, PAYMENT), reference=REFERENCE), Done)
    assert isinstance(mapping.looked_up(reply(200, PAYMENT), reference=REFERENCE), Done)


@pytest.mark.parametrize("read", [mapping.sent, mapping.looked_up])
def test_what_was_booked_and_came_back_is_reversed_whoever_asks(read: Any) -> None:
    said = read(reply(200, PAYMENT | {"status": "reversed"}), reference=REFERENCE)
    assert isinstance(said, Reversed)
    assert (said.amount, said.currency, said.status) == (100_00, "NGN", "reversed")


@pytest.mark.parametrize(("status", "body"), ODD.values(), ids=ODD)
def test_an_odd_answer_to_a_send_is_unknown(status: int, body: Any) -> None:
    odd = reply(status, body)

    outcome = mapping.sent(odd, reference=REFERENCE)

    assert isinstance(outcome, Unknown), f"a guess was made from an odd answer: {outcome}"
    assert outcome.body == odd.body, "the bytes must be kept as evidence"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        *ODD.values(),
        (404, {"error": {"type": "no_such_endpoint"}}),
        (401, {"error": {"type": "x"}}),
    ],
    ids=[*ODD, "a wrong address", "our credentials refused"],
)
def test_an_odd_answer_to_a_look_up_is_no_information(status: int, body: Any) -> None:
    """Above all never 'not found', which could pay again."""
    # a look-up answers 200 where a send answers 201
    odd = reply(
        200 if status == 201 and b"failed" not in reply(status, body).body else status, body
    )

    found = mapping.looked_up(odd, reference=REFERENCE)

    assert isinstance(found, NoInformation), f"a guess was made from an odd answer: {found}"
