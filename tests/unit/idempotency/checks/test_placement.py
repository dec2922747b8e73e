"""A guard that cannot do its work where it stands is named at start."""

from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.http import HttpResponse
from django.urls import include, path
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.decorators import action, api_view
from rest_framework.generics import GenericAPIView
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from idempotency import idempotent, routes
from idempotency.checks import check_placement
from tests.unit.idempotency.checks.urlconf import ids, routed


@idempotent()
def plain(request: Any) -> HttpResponse:
    raise NotImplementedError


@api_view(["POST"])
@idempotent()
def function(request: Any) -> HttpResponse:
    raise NotImplementedError


@idempotent()
@transaction.atomic
def plain_around_atomic(request: Any) -> HttpResponse:
    raise NotImplementedError


class Class(View):
    @idempotent()
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


class Rest(APIView):
    @idempotent()
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


class Set(ViewSet):
    @idempotent()
    def create(self, request: Any) -> HttpResponse:
        raise NotImplementedError

    @action(detail=False, methods=["post"])
    @idempotent()
    def approve(self, request: Any) -> HttpResponse:
        raise NotImplementedError

    @idempotent()
    def list(self, request: Any) -> HttpResponse:
        raise NotImplementedError


class Below(View):
    @idempotent()
    @transaction.atomic
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


GOOD = {
    "plain": plain,
    "exempt": csrf_exempt(plain),
    "api_view": function,
    "class": Class.as_view(),
    "rest": Rest.as_view(),
    "viewset": Set.as_view({"post": "create"}),
    "action": Set.as_view({"post": "approve"}),
    "atomic below the guard": Below.as_view(),
    "atomic below the guard of a function": csrf_exempt(plain_around_atomic),
    "another database's transaction": transaction.atomic(using="other")(plain),
}


class Wrapped(View):
    @transaction.atomic
    @idempotent()
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


class Method(APIView):
    @method_decorator(transaction.atomic)
    @idempotent()
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


@method_decorator(transaction.atomic, name="dispatch")
class Dispatch(APIView):
    @idempotent()
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


@method_decorator([csrf_exempt, transaction.atomic(durable=True)], name="dispatch")
class Several(View):
    @idempotent()
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


@api_view(["POST"])
@transaction.atomic
@idempotent()
def wrapped_function(request: Any) -> HttpResponse:
    raise NotImplementedError


INSIDE = {
    "plain": transaction.atomic(plain),
    "below others": csrf_exempt(transaction.atomic(csrf_exempt(plain))),
    "around as_view": transaction.atomic(Class.as_view()),
    "around api_view": transaction.atomic(function),
    "below api_view": wrapped_function,
    "the method": Wrapped.as_view(),
    "method_decorator": Method.as_view(),
    "dispatch": Dispatch.as_view(),
    "dispatch among others": Several.as_view(),
}


@pytest.mark.parametrize("view", GOOD.values(), ids=GOOD)
def test_a_guard_where_it_belongs_is_found_and_nothing_is_said(settings: Any, view: Any) -> None:
    routed(settings, view)
    assert len(list(routes.guarded())) == 1, "the check does not see this guard at all"
    assert ids(check_placement) == []


@pytest.mark.parametrize("view", INSIDE.values(), ids=INSIDE)
def test_a_guard_inside_a_transaction_is_refused(settings: Any, view: Any) -> None:
    routed(settings, view, view)
    assert ids(check_placement) == ["E012"] * 2
    settings.IDEMPOTENCY = {"DATABASE": "other"}
    assert ids(check_placement) == [], "a transaction on another database is none of ours"


def test_a_guard_that_only_safe_methods_reach_is_no_guard(settings: Any) -> None:
    @api_view(["GET"])
    @idempotent()
    def read(request: Any) -> HttpResponse:
        raise NotImplementedError

    class Read(View):
        @idempotent()
        def get(self, request: Any) -> HttpResponse:
            raise NotImplementedError

    routed(settings, read, Read.as_view(), Set.as_view({"get": "list"}))
    assert ids(check_placement) == ["W012"] * 3


def test_a_guard_that_no_request_is_let_through_to_is_named(settings: Any) -> None:
    class Closed(Rest):
        http_method_names = ("get", "options")

    routed(settings, Closed.as_view(), Rest.as_view(http_method_names=["get"]))
    assert ids(check_placement) == ["W014"] * 2


class Odd:
    """Can be called, and is neither a function nor a class of views."""

    def __call__(self, request: Any) -> HttpResponse:
        raise NotImplementedError


class Slippery(View):
    """Whoever looks too closely at it gets an error."""

    @property
    def post(self) -> Any:
        raise RuntimeError


@idempotent()
def itself(request: Any) -> HttpResponse:
    raise NotImplementedError


itself.__wrapped__ = itself  # type: ignore[attr-defined]


def test_odd_views_and_nested_urls_are_no_error(settings: Any) -> None:
    odd = [Odd(), partial(plain), itself, lambda request: None, Slippery.as_view(), View.as_view()]
    inner = [path(f"{n}/", view) for n, view in enumerate(odd)]
    inner.append(path("deep/", include(([path("guarded/", Rest.as_view())], "app"), "space")))
    patterns = [path("a/<int:pk>/", include(inner)), path("g/", GenericAPIView.as_view())]
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": patterns})
    assert ids(check_placement) == []
    assert [each.route for each in routes.guarded()] == [
        "a/<int:pk>/2/",
        "a/<int:pk>/deep/guarded/",
    ]


def test_a_project_without_urls_is_no_error(settings: Any) -> None:
    del settings.ROOT_URLCONF
    assert ids(check_placement) == []
