"""A guard that a class of views has, but not where its handler runs, is named at start."""

from typing import Any

import pytest
from django.http import HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from rest_framework.decorators import api_view
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from idempotency import idempotent
from idempotency.checks import check_inheritance
from tests.unit.idempotency.checks.urlconf import ids, routed


class Guarded:
    @idempotent()
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError

    @idempotent()
    def create(self, request: Any) -> HttpResponse:
        raise NotImplementedError


class Rest(Guarded, APIView):
    pass


class Again(Rest):
    @idempotent()
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


class Reads(Rest):
    def get(self, request: Any) -> HttpResponse:
        raise NotImplementedError


@api_view(["POST"])
@idempotent()
def function(request: Any) -> HttpResponse:
    raise NotImplementedError


@method_decorator(idempotent(), name="dispatch")
class Plain(View):
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


@method_decorator(idempotent(), name="post")
class Method(APIView):
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


class Overrides(Rest):
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


class Below(Overrides):
    pass


class Set(Guarded, ViewSet):
    pass


class SetOverrides(Set):
    def create(self, request: Any) -> HttpResponse:
        raise NotImplementedError


@method_decorator(idempotent(), name="dispatch")
class Around(APIView):
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


GOOD = {
    "inherited": Rest.as_view(),
    "guarded again": Again.as_view(),
    "another method": Reads.as_view(),
    "function": function,
    "dispatch of a plain view": Plain.as_view(),
    "method by method_decorator": Method.as_view(),
    "viewset": Set.as_view({"post": "create"}),
    "an override that no route leads to": SetOverrides.as_view({"post": "post"}),
}


@pytest.mark.parametrize("view", GOOD.values(), ids=GOOD)
def test_nothing_is_said_of_a_guard_where_the_handler_runs(settings: Any, view: Any) -> None:
    routed(settings, view, lambda request: None)
    assert ids(check_inheritance) == []


HIDDEN = [Overrides.as_view(), Below.as_view(), SetOverrides.as_view({"post": "create"})]


@pytest.mark.parametrize("view", HIDDEN, ids=["override", "inherited", "viewset"])
def test_an_override_that_hides_a_guard_is_named(settings: Any, view: Any) -> None:
    routed(settings, view)
    assert ids(check_inheritance) == ["W019"]


def test_a_guard_around_what_authenticates_is_refused(settings: Any) -> None:
    routed(settings, Around.as_view())
    assert ids(check_inheritance) == ["E019"]
