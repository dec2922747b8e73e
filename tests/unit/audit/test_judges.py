"""What each check says of an endpoint that does one thing wrong."""

from typing import Any

import pytest

from idempotency.audit import checks
from idempotency.audit.findings import Verdict
from tests.unit.audit.build import BUSY, NO, answer, evidence, finding, replay

SAME = answer()  # as every answer of an endpoint that names nothing

# check, what is otherwise, a piece of what was seen
BROKEN: list[Any] = [
    ("first", {"first": answer(500)}, "answered with 500"),
    ("replay", {"replay": answer(201, {"id": 9})}, "executed twice"),
    ("replay", {"replay": answer(409)}, "409 although the first one had ended"),
    ("replay", {"replay": [BUSY, BUSY]}, "409 although the first one had ended"),
    ("replay", {"replay": answer(500)}, "a 500"),
    ("replay", {"replay": replay(201, b'{"id":1}')}, "the same thing in another answer"),
    ("replay", {"replay": replay(200)}, "status 201 then 200"),
    ("marker", {"replay": answer()}, "does not carry"),
    ("marker", {"first": replay()}, "The first answer carries"),
    ("headers", {"replay": replay(Content_Type="text/html")}, "another Content-Type"),
    ("headers", {"first": answer(Location="/1")}, "another Location"),
    ("cookies", {"first": answer(Set_Cookie="s=1"), "replay": replay(Set_Cookie="s=1")}, "cookie again"),
    ("other-body", {"other_body": replay()}, "got the answer of the first one"),
    ("other-body", {"other_body": answer(201, {"id": 9})}, "carried out as well"),
    ("other-body", {"other_body": answer(500)}, "a 500"),
    ("unspoilt", {"replay_again": answer(422)}, "a 422 after a 201"),
    ("json-order", {"other_order": answer(422)}, "another order got a 422"),
    ("chunked", {"chunked": answer(400)}, "a 400 after a 201"),
    ("chunked", {"chunked_other_body": replay()}, "got the answer of the first one"),
    ("get", {"look": replay(200)}, "got the stored answer"),
    ("get", {"look": answer(500)}, "a 500"),
    ("quoted", {"quoted": answer(201, {"id": 9})}, "double quotes got another thing"),
    ("missing", {"no_key": answer()}, "was carried out"),
    ("missing", {"no_key": answer(500)}, "a 500"),
    ("long", {"long_key": answer(500)}, "a 500"),
    ("long", {"long_key": [answer(), replay()]}, "got the same answer"),
    ("odd", {"control_character": answer()}, "control character was carried out"),
    ("odd", {"not_ASCII": answer(500)}, "outside ASCII got a 500"),
    ("two-keys", {"two_keys": answer()}, "was carried out"),
    ("at-once", {"at_once": [answer(), answer(201, {"id": 9}), BUSY]}, "made 2 different things"),
    ("at-once", {"at_once": [answer(), answer(500)]}, "1 of 2 requests at once"),
    ("retry-after", {"at_once": [answer(), answer(409)]}, "no Retry-After"),
    ("prompt", {"at_once": [answer(201, {"id": 2}), replay(201, {"id": 2})]}, "1 others waited"),
    ("after", {"after": NO}, "a 400 that is not the answer"),
    ("stranger", {"somebody_else": replay()}, "got the first user's answer"),
    ("stranger", {"somebody_else": answer()}, "got the first user's answer"),
    ("stranger", {"somebody_else": answer(500)}, "a 500"),
    ("refusal", {"refused": [answer(400), answer(404)]}, "a 400, then a 404"),
    ("refusal", {"refused": [answer(500), answer(500)]}, "a 500"),
]  # fmt: skip

OPEN = {"first": answer(202, {"state": "pending"})}

# check, what is otherwise, a piece of why nothing can be said
UNCLEAR: list[Any] = [
    ("first", {"first": NO}, "refused with 400"),
    ("first", {"first": answer(302, Location="/login")}, "302, /login"),
    ("replay", {"first": NO}, "not accepted"),
    ("replay", {"replay": SAME, "at_once": SAME}, "those for two different keys"),
    ("replay", OPEN | {"replay": [BUSY, BUSY]}, "did not come in time"),
    ("quoted", {"replay": answer(201, {"id": 9})}, "Not even the unchanged request"),
    ("headers", {"replay": answer(201, {"id": 9})}, "No replay was seen"),
    ("at-once", {"at_once": [SAME, SAME]}, "Count the effects"),
    ("retry-after", {"at_once": [answer()]}, "told to come back"),
    ("after", {"after": BUSY}, "still running"),
    ("stranger", {"somebody_else": answer(403)}, "are its credentials good"),
    ("stranger", {"somebody_else": []}, "it was not sent"),
    ("refusal", {"refused": [answer(), replay()]}, "was accepted"),
]

KEPT: list[Any] = [
    ("replay", OPEN | {"replay": [BUSY, replay(201, {"id": 1})]}),
    ("marker", {"first": answer(Idempotent_Replayed="false")}),
    ("chunked", {"chunked": answer(411)}),
    ("long", {"long_key": [answer(), answer(201, {"id": 9})]}),
    ("after", {"at_once": [answer(202, {"id": 2}), BUSY]}),
]


def test_an_endpoint_that_keeps_every_promise_passes_every_check() -> None:
    left = {c.code: f.seen for c, f in checks.judge(evidence()) if f.verdict is not Verdict.PASSED}
    assert not left, f"the audit accuses an endpoint that does nothing wrong: {left}"


@pytest.mark.parametrize(("code", "otherwise", "seen"), BROKEN)
def test_a_broken_promise_is_named_with_what_it_means(
    code: str, otherwise: dict[str, Any], seen: str
) -> None:
    found = finding(code, evidence(**otherwise))
    assert found.verdict is Verdict.FAILED, f"{code} overlooks it: {found}"
    assert seen in found.seen
    assert found.means, "a failure that does not say what it means"
    assert found.cause, "a failure that does not say where to look"


@pytest.mark.parametrize(("code", "otherwise", "why"), UNCLEAR)
def test_what_cannot_be_seen_is_neither_praised_nor_blamed(
    code: str, otherwise: dict[str, Any], why: str
) -> None:
    found = finding(code, evidence(**otherwise))
    assert found.verdict is Verdict.UNKNOWN, found
    assert why in found.seen


@pytest.mark.parametrize(("code", "otherwise"), KEPT)
def test_another_way_of_keeping_the_promise_passes(code: str, otherwise: dict[str, Any]) -> None:
    found = finding(code, evidence(**otherwise))
    assert found.verdict is Verdict.PASSED, found


def test_an_answer_is_known_by_what_it_names_and_not_by_its_request() -> None:
    one = answer(201, {"id": 7, "request_id": "a", "paid": True})
    again = answer(201, {"id": 7, "request_id": "b", "paid": False})
    assert one.names() == again.names(), "the number of the request was taken for the thing"
    assert one.names() != answer(201, {"data": [{"id": 8}]}).names()
    assert answer(201, b"one").names() != answer(201, b"two").names()
