"""Handlers as they should not be written: nothing is applied that nobody can be told of."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.template.response import TemplateResponse
from django.test import RequestFactory
from django.utils.decorators import method_decorator
from django.utils.functional import SimpleLazyObject
from rest_framework.response import Response
from rest_framework.views import APIView

from idempotency import InputRefused, NothingHappened, Refusal, Transient, claims, idempotent
from idempotency.errors import Stated, Unauthenticated
from tests.integration.idempotency.conftest import ADA, BOLA, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows, writes_then
from tests.integration.idempotency.views import Principal, Staged, plain

pytestmark = COMMITTING


async def _later() -> None:
    raise NotImplementedError


def nothing() -> Any:
    return None


def text() -> Any:
    return "done"


@pytest.mark.parametrize("make", [nothing, text, _later])
@pytest.mark.parametrize("path", ["/plain/", "/leased-plain/"])
def test_a_handler_that_returns_no_response_has_done_nothing(
    ada: Phone, stage_: Stage, key: str, path: str, make: Callable[[], Any]
) -> None:
    def act(request: Any) -> Any:
        if path == "/plain/":
            effect(request)
        return make()

    stage_.act = act
    for _ in "ab":
        assert ada.send(key, path=path).status_code == 500
    assert (effects(), rows()) == (0, []), "it was applied, and no retry will ever be told so"
    assert stage_.calls == 2, "the key stayed taken, although nothing happened"


def test_the_log_says_what_was_returned_instead_of_a_response(stage_: Stage, key: str) -> None:
    stage_.act = lambda request: nothing()
    with pytest.raises(TypeError, match="returned no HttpResponse but NoneType"):
        plain(_request(key))
    stage_.act = lambda request: _later()  # type: ignore[assignment,return-value]
    with pytest.raises(TypeError, match="async below a decorator that hides it"):
        plain(_request(key))


@pytest.mark.parametrize("error", [InputRefused, Refusal, Transient, NothingHappened])
def test_what_may_be_raised_by_name_alone_is_an_answer(
    ada: Phone, stage_: Stage, key: str, error: type[Stated]
) -> None:
    stage_.act = writes_then(error("not so"))
    answer = ada.send(key)
    assert answer.status_code == error.status, "the handler's own word became an error"
    assert answer.json()["detail"] == "not so"
    assert effects() == 0


def test_the_first_answer_shows_a_projects_tests_what_its_response_showed(
    ada: Phone, stage_: Stage, key: str
) -> None:
    stage_.act = lambda request: Response({"n": 1}, status=201)
    assert ada.send(key).data == {"n": 1}
    page = engines["django"].from_string("{{ n }}")
    stage_.act = lambda request: TemplateResponse(request, page, {"n": 1})
    assert ada.send(f"{key}-page", path="/plain/").context_data == {"n": 1}


class Base:
    @idempotent()
    def post(self, request: HttpRequest) -> HttpResponse:
        effect(request)
        return HttpResponse(b"done", status=201)


class ByName(Base):
    def post(self, request: HttpRequest) -> HttpResponse:
        return Base.post(self, request=request)


class Twice(Base):
    @idempotent()
    def post(self, request: HttpRequest) -> HttpResponse:
        return super().post(request)


def test_a_subclass_may_pass_the_request_by_name(key: str) -> None:
    first, again = ByName().post(_request(key)), ByName().post(_request(key))
    assert (first.status_code, again.headers["Idempotent-Replayed"], effects()) == (201, "true", 1)


def test_a_guard_inside_another_is_told_to_be_the_only_one(key: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="one of the two is to be guarded"):
        Twice().post(_request(key))
    assert (effects(), rows()) == (0, [])


class Enveloped(Staged, APIView):
    """A project that puts every answer into an envelope of its own."""

    @idempotent()
    def post(self, request: Any) -> Response:
        return claims.claim_of(request).defer(Response({"state": "sent"}, status=202))

    def finalize_response(self, request: Any, response: Any, *a: Any, **k: Any) -> Any:
        if isinstance(response, Response) and "data" not in response.data:
            response = Response({"data": response.data}, status=response.status_code)
        return super().finalize_response(request, response, *a, **k)


def test_a_view_that_wraps_its_answers_may_defer(key: str) -> None:
    first, again = (Enveloped.as_view()(_request(key)) for _ in "ab")
    assert (first.status_code, first.data) == (202, {"data": {"state": "sent"}})
    assert rows() == [(key, "in_progress", None)], "the 202 was stored: the outcome is lost"
    assert again.status_code == 409


def test_a_leased_guard_is_refused_where_only_a_request_would_make_it() -> None:
    with pytest.raises(ImproperlyConfigured, match="would not know whom to ask"):
        method_decorator(idempotent(mode="leased", recover=str), name="post")(Base)


@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt])
def test_a_leased_handler_that_ends_the_process_leaves_no_transaction_to_its_thread(
    ada: Phone, stage_: Stage, key: str, end: type[BaseException]
) -> None:
    def act(request: Any) -> Any:
        request.idempotency.sending()
        with request.idempotency.settling():
            effect(request)
        raise end

    stage_.act = act
    with pytest.raises(end):
        ada.send(key, path="/leased/")
    left = connection.in_atomic_block
    connection.close()
    connection.in_atomic_block = False  # for the tests that come after, should this one fail
    assert not left, "the thread serves its next requests inside a transaction that nobody ends"
    assert effects() == 0, "what it wrote is committed without an answer"


class Named:
    """Somebody whose text says nothing of who it is."""

    def __init__(self, pk: object) -> None:
        self.pk = pk

    def __str__(self) -> str:
        return "A. Bello"


@pytest.fixture
def whose(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], object]:
    def scope(identity: object) -> object:
        monkeypatch.setattr(claims, "authenticated_user", lambda request: identity)
        return claims.scope(None)

    return scope


def test_two_who_bear_one_name_have_keys_of_their_own(whose: Callable[[object], object]) -> None:
    assert whose(Named(ADA)) == ADA
    assert whose(Named(BOLA)) == BOLA, "one of them would be given the other's answers"
    assert whose(Named(7)) == whose(7)


@pytest.mark.parametrize("nobody", ["", SimpleLazyObject(lambda: None), Named(None)], ids=type)
def test_nobody_has_no_bucket_of_keys(whose: Callable[[object], object], nobody: object) -> None:
    with pytest.raises(Unauthenticated):
        whose(nobody)


def _request(key: str) -> Any:
    request = RequestFactory().post("/", headers={"Idempotency-Key": key, "X-User": str(ADA)})
    request.user = Principal(ADA)  # type: ignore[assignment]
    return request
