"""Which key does a header name? (scenarios 24, 25, 41; cases C001-C006)"""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idempotency.errors import KeyInvalid, KeyMissing
from idempotency.key import lock_of, parse, reference_of, scope_of

VISIBLE = "".join(chr(c) for c in range(0x21, 0x7F) if chr(c) != ",")
SCOPE = UUID("00000000-0000-0000-0000-00000000ada0")


@given(st.text(VISIBLE, min_size=1, max_size=255))
def test_bare_and_quoted_forms_name_the_same_key(key: str) -> None:
    quoted = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
    assert parse(quoted) == key
    assert parse(f" {quoted}\t") == key
    if not key.startswith('"'):
        assert parse(key) == parse(f"\t {key} ") == key


@pytest.mark.parametrize(
    "parameters",
    [
        ";p=1",
        "; p",
        ";a=1.5;b=tok/en:x",
        ';p="a;b"',
        ";p=:aGk=:",
        ";p=?1",
        ";p=@1659578233",
        ";*a=*",
    ],
)
def test_parameters_are_ignored(parameters: str) -> None:
    assert parse(f'"k"{parameters}') == "k"


@given(st.text(max_size=300))
def test_whatever_comes_is_one_key_or_an_error(header: str) -> None:
    try:
        key = parse(header)
    except KeyInvalid:
        return
    assert 1 <= len(key) <= 255
    assert set(key) <= set(VISIBLE)


NO_KEYS = [
    '""',
    '"k',
    '"k"x',
    '"k";',
    '"k";=1',
    '"k"p',
    "k1,k2",
    '"k1","k2"',
    '"k1",k2',
    "é",
    "✓",
    '"\\k"',
    '"k\\"',
]


@pytest.mark.parametrize("header", [*NO_KEYS, "", " ", "\t", '" "', "k, k", "a b", '"a b"'])
def test_a_header_that_names_no_key_is_refused(header: str) -> None:
    with pytest.raises(KeyInvalid):
        parse(header)


@pytest.mark.parametrize(
    "header", ["k\x00", "k\x7f", "k\r\nX: 1", "k" * 256, '"' + "k" * 256 + '"', "0af3" * 750]
)
def test_control_characters_and_long_keys_are_refused(header: str) -> None:
    with pytest.raises(KeyInvalid):
        parse(header)


@pytest.mark.parametrize("key", ["k" * 255, "a:b:c", "../../x", "*", "k%0d%0aX", "k;p=1", 'a"b'])
def test_odd_but_visible_keys_are_keys(key: str) -> None:
    assert parse(key) == key


def test_no_header_is_a_missing_key() -> None:
    with pytest.raises(KeyMissing):
        parse(None)


def test_the_reference_is_the_published_formula() -> None:
    # printf 'ledgerline/reference/v1\n<16 bytes>k-1' | sha256sum | cut -c 1-32
    assert reference_of(SCOPE, "k-1") == "3099aa6229662c59a449438e76203698"


@given(st.text(VISIBLE, min_size=1), st.uuids())
def test_locks_fit_postgresql_and_differ_by_scope_and_key(key: str, scope: UUID) -> None:
    assert -(2**63) <= lock_of(scope, key) < 2**63
    assert lock_of(scope, key) != lock_of(scope, key + "x")
    assert lock_of(scope, key) != lock_of(UUID(int=scope.int ^ 1), key)


def test_a_scope_that_is_no_uuid_becomes_a_fixed_one() -> None:
    assert scope_of(SCOPE) == SCOPE
    assert scope_of(7) == scope_of("7") == UUID("78e1ba8d-27b3-55b5-919d-0c8ec72fca3b")
    assert scope_of(7) != scope_of(8)
