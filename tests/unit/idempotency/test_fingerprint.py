"""Which requests are the same? (scenarios 32, 33; cases C027-C040)"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idempotency.errors import BodyInvalid, VersionUnknown
from idempotency.fingerprint import Part, Request, canonical, is_json, of_request, version_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def of(body: Any = b"{}", **other: str) -> str:
    said = {"method": "POST", "path": "/p", "query": "", "content_type": "application/json"}
    return of_request(Request(**(said | other), body=body))


@given(VALUES)
def test_spelling_does_not_matter(value: Any) -> None:
    plain = json.dumps(value, ensure_ascii=True).encode()
    odd = json.dumps(_reversed(value), ensure_ascii=False, indent=3)
    assert canonical(plain) == canonical(odd.encode("utf-8"))


@given(VALUES, VALUES)
def test_different_values_are_different_requests(one: Any, two: Any) -> None:
    texts = [json.dumps(value, sort_keys=True) for value in (one, two)]
    same = canonical(texts[0].encode()) == canonical(texts[1].encode())
    assert same == (texts[0] == texts[1])


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (b"0.1", b"0.10"),
        (b"1", b"1.0"),
        (b"1", b'"1"'),
        (b"100", b"1e2"),
        (b"9007199254740993", b"9007199254740992"),
        (b"1e400", b"1e401"),
        (b"[1,2]", b"[2,1]"),
        (b"[[],1]", b"[[1]]"),
        (b"[12]", b"[1,2]"),
        (b'{"a":null}', b"{}"),
        (b"true", b'"true"'),
        (b'"\\ud83d"', b'"?"'),
        (b"-0", b"0"),
    ],
)
def test_values_that_differ_are_never_equal(one: bytes, two: bytes) -> None:
    assert canonical(one) != canonical(two)


def test_method_path_query_and_body_all_count() -> None:
    others = [of(method="PUT"), of(path="/q"), of(query="a=1"), of(b"[]"), of(b"")]
    assert len({of(), *others}) == 6
    assert of(path="/pa", query="") != of(path="/p", query="a")


def test_a_fingerprint_never_changes_between_releases() -> None:
    assert of(b'{"b": 1.10, "a": "\\u00e9"}') == (
        "4616fc42e13878bbaad4a34c63bbfa5a0c24778cec97df46e4434c5dbd813d5e"
    )


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1, "a": 2}',
        b'{"a": 1, "\\u0061": 1}',
        b'[{"x": {"a": 1, "a": 1}}]',
        b"NaN",
        b"[-Infinity]",
        b"\xef\xbb\xbf{}",
        b'"\xff"',
        b'"\xed\xa0\xbd"',
        '{"a": 1}'.encode("utf-16"),
        b'"a\x00b"',
        b"{",
        b"{}{}",
        b"'a'",
        b"01",
        b"0x10",
        b"[" * 65 + b"]" * 65,
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
    ],
    ids=lambda body: repr(body[:20]),
)
def test_json_without_one_meaning_is_refused(body: bytes) -> None:
    with pytest.raises(BodyInvalid):
        canonical(body)


@pytest.mark.parametrize(
    "body", [b"9" * 5000, b'"\\ud83d"', b'"a\\u0000b"', b"[" * 64 + b"]" * 64, b" {} \n"]
)
def test_odd_json_has_a_fingerprint(body: bytes) -> None:
    assert len(of(body)) == 64


def test_the_reason_never_quotes_the_body() -> None:
    with pytest.raises(BodyInvalid) as refused:
        canonical(b'{"account": "0123456789" "x"}')
    assert "0123456789" not in str(refused.value)


def test_other_bodies_count_byte_for_byte() -> None:
    assert of(b"{}", content_type="text/plain") != of(b"{ }", content_type="text/plain")
    assert of(b"{", content_type="text/plain") != of(b"{}", content_type="text/plain")


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", "application/cloudevents+JSON"]
)
def test_json_types_are_known_whatever_their_parameters(kind: str) -> None:
    assert is_json(kind)
    assert not is_json("application/jsonp")


def test_parts_count_and_their_order_between_names_does_not() -> None:
    a, b = Part("a", b"1"), Part("b", b"2", "f.bin", "image/png")
    whole = of([a, b])
    assert whole == of([b, a])
    others = [
        [a],
        [a, a, b],
        [Part("a", b"2"), b],
        [a, Part("b", b"2", "g.bin", "image/png")],
        [a, Part("b", b"2", "f.bin", "image/gif")],
        [a, Part("b", b"2")],
    ]
    assert whole not in {of(parts) for parts in others}
    assert of([Part("a", b"1"), Part("a", b"2")]) != of([Part("a", b"2"), Part("a", b"1")])


def _reversed(value: Any) -> Any:
    """The same value with the members of every object in another order."""
    if isinstance(value, dict):
        return {name: _reversed(value[name]) for name in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


def test_version_1_never_changes() -> None:
    """Keys and references that it made are on record: another text for one request is a new request."""
    request = Request(
        "POST", "/v1/transfers", "a=1", "application/json", b'{"b": 1.0, "a": "\\u00e9"}'
    )
    print_ = of_request(request, version=1)
    assert print_ == "001a219ea3046c8076a42768b5deaac71bd882c1496f7f8edff05788d2a2d88a"
    assert version_of(print_) == 1
    assert version_of("2:" + "f" * 62) == 2
    with pytest.raises(VersionUnknown):
        of_request(request, version=99)
