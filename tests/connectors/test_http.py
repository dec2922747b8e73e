"""What cannot be put on the wire never left us, and no reason quotes a secret or an account."""

from datetime import timedelta
from typing import Any

import pytest

from fulfilment.connectors import http
from fulfilment.connectors.base import NotSent
from tests.connectors.sandbox import ACCOUNT, expect, instruction
from tests.connectors.servers import unused_url

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("what", "request_of"),
    [
        ("half a surrogate pair", {"json_body": {"narration": "\ud800 s3cret"}}),
        ("a header beyond ASCII", {"headers": {"authorization": "Bearer s3cret é"}}),
        ("a line break in a header", {"headers": {"authorization": "Bearer s3cret\r\nx: y"}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_written_was_not_sent(what: str, request_of: dict[str, Any]) -> None:
    said = http.call("POST", unused_url(), deadline=SECOND, **request_of)

    expect(said, NotSent, f"{what} cannot be put on the wire")
    assert "s3cret" not in repr(said), f"the reason quotes {what}, so a secret reaches the logs"


def test_a_line_break_in_a_header_is_not_quoted_once_connected(sandbox: Any) -> None:
    """The library refuses it only after it has connected, in words that quote the header."""
    said = http.call(
        "GET", f"{sandbox.url}/healthz", deadline=SECOND, headers={"x-secret": "s3cret\r\nx: y"}
    )

    expect(said, NotSent, "no byte may leave with a forged header")
    assert "s3cret" not in repr(said), "the library's words quote the header, and we repeat them"


def test_an_instruction_never_shows_whom_it_pays(reference: str) -> None:
    """Django's error pages and worker logs print the arguments of a call."""
    assert ACCOUNT not in repr(instruction(reference)), "the account is in the instruction's repr"
