"""What a `Prefer` header wishes (RFC 7240), read without guessing."""

import time

import pytest

from ledgerline.bank import waiting


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("wait=5", 5),
        ("WAIT=5", 5),
        ("wait = 5", 5),
        ('wait="5"', 5),
        ("respond-async, wait=5", 5),
        ("wait=5; foo=bar, handling=lenient", 5),
        ('foo="a, wait=9", wait=2', 2),
        ('foo="a\\", wait=9", wait=2', 2),
        ("wait=3, wait=9", 3),
        ("wait=10", 10),
        ("wait=11", 10),
        ("wait=999999999", 10),
        ("wait=0", 0),
        ("", 0),
        ("return=minimal", 0),
        ("await=5", 0),
        ("wait", 0),
        ("wait=", 0),
        ("wait=-1", 0),
        ("wait=1.5", 0),
        ("wait=1e3", 0),
        ("wait=0x10", 0),
        ("wait=٣", 0),
        ("wait=99999999999999999999", 0),
        ("wait=soon, wait=9", 0),
        ('wait="5', 0),
        (",,,;;;==", 0),
    ],
)
def test_the_first_wish_that_can_be_read_and_never_above_the_longest(
    header: str, seconds: int
) -> None:
    assert waiting.preferred(header) == seconds


@pytest.mark.parametrize("piece", ['"', ",", ";", '"a', "wait=", "\\", '"\\'])
def test_a_long_odd_header_is_read_at_once(piece: str) -> None:
    began = time.monotonic()
    waiting.preferred(piece * 30_000)
    assert time.monotonic() - began < 1
