"""The first answer, its replays, and who they belong to (scenarios 1-5, 10, 11, 13, 24-29, 40, 41)."""

from typing import Any

import pytest
from django.http import FileResponse, HttpResponse, JsonResponse
from rest_framework.response import Response

from tests.integration.idempotency.conftest import ADA, BOLA, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"


def pay(request: Any) -> Response:
    number = effect(request)
    return Response({"z": number, "a": "1.10"}, status=201, headers={"Location": f"/t/{number}"})


def same(first: Any, again: Any) -> None:
    """A replay is the first answer, byte for byte, with the marker that the first did not carry."""
    assert again.status_code == first.status_code, again.content
    assert again.content == first.content, "the replay's bytes differ from the first answer's"
    assert MARKER not in first.headers, "a first answer carries the marker of a replay"
    assert again.headers.get(MARKER) == "true", "the replay cannot be told from a first answer"
    for name in ("Content-Type", "Location", "Content-Disposition", "Vary", "Allow"):
        assert again.headers.get(name) == first.headers.get(name), f"{name} differs on the replay"


def test_a_request_is_applied_once_and_its_answer_sent_again(
    ada: Phone, stage_: Stage, key: str
) -> None:
    stage_.act = pay
    first, again, third = (ada.send(key) for _ in range(3))
    assert first.status_code == 201
    assert first.headers["Location"].startswith("/t/")
    same(first, again)
    same(first, third)
    assert (effects(), stage_.calls) == (1, 1), "the handler ran again for a known key"


def test_replays_from_postgresql_equal_replays_from_the_cache(
    ada: Phone, stage_: Stage, key: str, settings: Any
) -> None:
    stage_.act = pay
    first = ada.send(key)
    from_cache = ada.send(key)
    settings.IDEMPOTENCY = {"CACHE": None}
    same(first, from_cache)
    same(first, ada.send(key))


def test_two_keys_with_one_body_are_two_actions(ada: Phone, stage_: Stage) -> None:
    stage_.act = pay
    assert [ada.send(k).status_code for k in ("a-1", "a-2")] == [201, 201]
    assert effects() == 2


def test_a_key_belongs_to_its_user(ada: Phone, bola: Phone, stage_: Stage, key: str) -> None:
    stage_.act = pay
    hers, his = ada.send(key), bola.send(key)
    assert hers.status_code == his.status_code == 201
    assert MARKER not in his.headers, "Bola was given Ada's answer"
    assert (effects(ADA), effects(BOLA)) == (1, 1)
    assert bola.send(key, {"amount": 1}).status_code == 422
    same(hers, ada.send(key))


@pytest.mark.parametrize(
    "other",
    [
        {"body": {"amount": 10001}},
        {"path": "/other/"},
        {"path": "/required/?dry=1"},
        {"method": "put"},
    ],
    ids=["body", "path", "query", "method"],
)
@pytest.mark.parametrize("cache", ["default", None])
def test_another_request_under_a_used_key_is_refused_and_spoils_nothing(
    ada: Phone, stage_: Stage, key: str, settings: Any, other: dict[str, Any], cache: str | None
) -> None:
    settings.IDEMPOTENCY = {"CACHE": cache}
    stage_.act = pay
    first = ada.send(key)
    refused = ada.send(key, **other)
    assert refused.status_code == 422, refused.content
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert MARKER not in refused.headers
    assert refused.json()["code"] == "key_reused"
    assert refused.json()["safe_new_key"] is False
    same(first, ada.send(key))
    assert effects() == 1, "the other request was carried out under a used key"


def test_wrong_or_no_credentials_leave_the_key_untouched(stage_: Stage, key: str) -> None:
    stage_.act = pay
    assert [Phone(user).send(key).status_code for user in ("bad", None)] == [401, 401]
    assert rows() == [], "an unauthenticated request left a key behind"
    first = Phone(ADA).send(key)
    assert first.status_code == 201
    for user in ("bad", None):
        refused = Phone(user).send(key)
        assert refused.status_code == 401, "credentials are not checked on a replay"
        assert MARKER not in refused.headers


def test_a_plain_view_without_a_user_answers_401(stage_: Stage, key: str) -> None:
    refused = Phone(None).send(key, path="/plain/")
    assert refused.status_code == 401
    assert refused.json()["code"] == "unauthenticated"
    assert (stage_.calls, rows()) == (0, [])


def test_quoted_and_bare_forms_name_one_key(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = pay
    first = ada.send(f'"{key}"')
    for form in (key, f'"{key}";p=1', f"  {key} ", f"\t{key}"):
        same(first, ada.send(form))
    assert effects() == 1


ODD_KEYS = ["a:b:c", "../../x", "*", "k%0d%0aX", "a/../b", 'q"uote', "0af3c91e7b" * 25 + "12345"]


@pytest.mark.parametrize("cache", ["default", None])
def test_odd_keys_and_the_longest_are_keys_of_their_own(
    ada: Phone, stage_: Stage, settings: Any, caplog: Any, cache: str | None
) -> None:
    settings.IDEMPOTENCY = {"CACHE": cache}
    stage_.act = pay
    firsts = {key: ada.send(key) for key in ODD_KEYS}
    assert len({answer.content for answer in firsts.values()}) == effects() == len(ODD_KEYS)
    for key, first in firsts.items():
        same(first, ada.send(key))
        assert key not in caplog.text, "a whole key stands in the log"


def test_keys_that_differ_in_case_are_two_keys(ada: Phone, stage_: Stage) -> None:
    stage_.act = pay
    assert [MARKER in ada.send(k).headers for k in ("Case", "case")] == [False, False]
    assert effects() == 2


@pytest.mark.parametrize("path", ["/required/", "/optional/", "/plain/"])
@pytest.mark.parametrize("bad", ["", "  ", "k1,k2", "k" * 256, "é", "a\x01b", '"open', '""'])
def test_a_header_that_is_no_key_is_refused(ada: Phone, stage_: Stage, bad: str, path: str) -> None:
    refused = ada.send(bad, path=path)
    assert refused.status_code == 400
    assert refused.json()["code"] == "key_invalid"
    assert (stage_.calls, rows()) == (0, []), "a request without a readable key was carried out"


def test_a_missing_key_is_refused_with_the_page_that_explains_it(ada: Phone, stage_: Stage) -> None:
    refused = ada.send(None)
    assert refused.status_code == 400
    assert refused.json()["code"] == "key_missing"
    assert refused.json()["type"] == "/problems/key_missing/"
    assert (stage_.calls, rows()) == (0, [])


def test_an_optional_key_may_be_absent(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = pay
    assert [ada.send(None, path="/optional/").status_code for _ in range(2)] == [201, 201]
    assert effects() == 2
    assert stage_.requests[0].idempotency is None
    same(ada.send(key, path="/optional/"), ada.send(key, path="/optional/"))
    assert effects() == 3


@pytest.mark.parametrize("method", ["get", "head", "options"])
def test_safe_methods_ignore_the_key(ada: Phone, stage_: Stage, key: str, method: str) -> None:
    stage_.act = pay
    ada.send(key)
    stage_.act = lambda request: Response({"read": True})
    answer = ada.send(key, method=method)
    assert answer.status_code == 200
    assert MARKER not in answer.headers
    assert len(rows()) == 1


ANSWERS = {
    "402": lambda _: Response({"code": "declined"}, status=402),
    "204": lambda _: Response(status=204),
    "303": lambda _: HttpResponse(status=303, headers={"Location": "/t/1"}),
    "empty": lambda _: HttpResponse(b""),
    "binary": lambda _: HttpResponse(b"\x00\xff\xfe%PDF", content_type="application/pdf"),
    "gzip": lambda _: HttpResponse(b"\x1f\x8b\x00", headers={"Content-Encoding": "gzip"}),
    "NUL in JSON": lambda _: JsonResponse({"b": "a\x00b", "a": 1}),
    "DRF": lambda _: Response({"b": 1.10, "a": {}}),
    "file": lambda _: FileResponse([b"one", b"two"], as_attachment=True, filename="x.bin"),
}


@pytest.mark.parametrize("act", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("cache", ["default", None])
def test_every_kind_of_answer_replays_byte_for_byte(
    ada: Phone, stage_: Stage, key: str, settings: Any, act: Any, cache: str | None
) -> None:
    settings.IDEMPOTENCY = {"CACHE": cache}
    stage_.act = act
    first, again = ada.send(key), ada.send(key)
    same(first, again)
    assert again.headers.get("Content-Encoding") == first.headers.get("Content-Encoding")
    assert (first.status_code == 204) == ("Content-Type" not in first.headers)
    assert stage_.calls == 1


@pytest.mark.parametrize("path", ["/required/", "/set/", "/function/", "/plain/", "/class/"])
def test_every_kind_of_view_can_be_guarded(ada: Phone, stage_: Stage, key: str, path: str) -> None:
    def act(request: Any) -> HttpResponse:
        return JsonResponse({"n": effect(request), "reference": request.idempotency.reference})

    stage_.act = act
    same(ada.send(key, path=path), ada.send(key, path=path))
    assert effects() == 1


def test_the_other_actions_of_a_guarded_viewset_stay_as_they_were(
    ada: Phone, stage_: Stage, key: str
) -> None:
    stage_.act = pay
    assert [ada.send(key, path="/set/", method="put").status_code for _ in "ab"] == [201, 201]
    assert (effects(), rows()) == (2, [])


def test_cookies_and_headers_of_one_request_are_not_replayed(
    ada: Phone, stage_: Stage, key: str
) -> None:
    def act(request: Any) -> Response:
        answer = Response({}, headers={"X-Request-ID": "r-1", "Location": "/t/1"})
        answer.set_cookie("session", "secret")
        return answer

    stage_.act = act
    origin = {"Origin": "https://app.example"}
    first, again = ada.send(key, **origin), ada.send(key, **origin)
    assert first.cookies["session"].value == "secret"
    assert first.headers["X-Request-ID"] == "r-1"
    assert "session" not in again.cookies, "a cookie was stored with the answer"
    assert "X-Request-ID" not in again.headers
    assert MARKER in again.headers["Access-Control-Expose-Headers"]
    same(first, again)
