"""A project's schema: every guarded operation says so, whatever it is built of, and no other."""

import functools
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import include, path
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import OpenApiParameter, extend_schema
from drf_spectacular.validation import validate_schema
from hypothesis import example, given
from hypothesis import strategies as st
from rest_framework.decorators import action, api_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.serializers import CharField, Serializer
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from idempotency import Unknown, idempotent
from idempotency import key as keys
from idempotency.errors import KeyInvalid, KeyMissing
from idempotency.openapi import problem_responses
from idempotency.openapi.parts import PATTERN


class Order(Serializer):
    sku = CharField()


TEXT = {"type": "object", "properties": {"error": {"type": "string"}}}


def logged(view: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(view)
    def inner(*arguments: Any, **keywords: Any) -> Any:
        return view(*arguments, **keywords)

    return inner


class Orders(ViewSet):
    serializer_class = Order

    @idempotent(operation="shop.order")
    def create(self, request: Request) -> Response: ...

    def list(self, request: Request) -> Response: ...

    @extend_schema(
        responses={
            200: Order,
            **problem_responses("key_reused"),
            (400, "application/json"): TEXT,
            (401, "application/problem+json"): TEXT,
        }
    )
    @action(detail=True, methods=["post"])
    @logged
    @idempotent(operation="shop.pay", mode="leased", recover=lambda record: Unknown())
    def pay(self, request: Request, pk: str) -> Response: ...

    @action(detail=True, methods=["post"])
    def note(self, request: Request, pk: str) -> Response: ...


class Basket(APIView):
    serializer_class = Order

    @extend_schema(parameters=[OpenApiParameter("idempotency-key", str, OpenApiParameter.HEADER)])
    @method_decorator(never_cache)
    @idempotent(operation="shop.put", required=False)
    def put(self, request: Request) -> Response: ...

    @idempotent(operation="shop.get")
    def get(self, request: Request) -> Response: ...

    def delete(self, request: Request) -> Response: ...


@extend_schema(request=Order, responses=Order)
@api_view(["POST", "GET"])
@idempotent(operation="shop.function")
def function(request: Request) -> Response: ...


@extend_schema(request=Order, responses=Order)
@api_view(["POST"])
def bare(request: Request) -> Response: ...


router = SimpleRouter()
router.register("orders", Orders, basename="order")
URLS = [
    path("", include(router.urls)),
    path("basket/", Basket.as_view()),
    path("function/", function),
    path("bare/", bare),
]


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    with GENERATOR_STATS.silence():
        made: dict[str, Any] = SchemaGenerator(patterns=URLS).get_schema(request=None, public=True)
    return made


def operation(schema: dict[str, Any], name: str) -> dict[str, Any]:
    [found] = [
        operation
        for methods in schema["paths"].values()
        for operation in methods.values()
        if operation.get("x-idempotent", {}).get("operation") == name
    ]
    return dict(found)


def codes(operation: dict[str, Any], status: str) -> list[str]:
    content = operation["responses"][status]["content"]["application/problem+json"]["schema"]
    return list(content["allOf"][1]["properties"]["code"]["enum"])


def test_a_document_with_guarded_operations_is_valid(schema: dict[str, Any]) -> None:
    validate_schema(schema)
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(schema)))
    assert named == set(schema["components"]["schemas"]), "something is named, and not there"
    assert "Problem" in named


def test_a_second_document_is_like_the_first(schema: dict[str, Any]) -> None:
    with GENERATOR_STATS.silence():
        again = SchemaGenerator(patterns=URLS).get_schema(request=None, public=True)
    assert again == schema


def test_every_guarded_operation_is_marked_and_no_other(schema: dict[str, Any]) -> None:
    marked = {
        (method, where): operation.get("x-idempotent")
        for where, methods in schema["paths"].items()
        for method, operation in methods.items()
    }
    atomic = {"mode": "atomic", "required": True}
    assert marked == {
        ("get", "/orders/"): None,
        ("post", "/orders/"): atomic | {"operation": "shop.order"},
        ("post", "/orders/{id}/note/"): None,
        ("post", "/orders/{id}/pay/"): {
            "mode": "leased",
            "required": True,
            "operation": "shop.pay",
        },
        ("get", "/basket/"): None,
        ("put", "/basket/"): {"mode": "atomic", "required": False, "operation": "shop.put"},
        ("delete", "/basket/"): None,
        ("post", "/function/"): atomic | {"operation": "shop.function"},
        ("get", "/function/"): None,
        ("post", "/bare/"): None,
    }, "a guard is hidden by what stands above it, or an unguarded operation claims one"


def test_the_header_is_named_once_with_both_of_its_forms(schema: dict[str, Any]) -> None:
    [key] = [p for p in operation(schema, "shop.order")["parameters"] if p["in"] == "header"]
    assert (key["name"], key["required"]) == ("Idempotency-Key", True)
    for form in key["examples"].values():
        assert keys.parse(form["value"]) == "6f1c2b9a-3a2e-4a51-9a43-0d6cf5d0c1b7"
    own = [p["name"] for p in operation(schema, "shop.put")["parameters"]]
    assert own == ["idempotency-key"], "the adopter's own words were doubled"


def test_each_operation_names_the_codes_that_it_may_answer_with(schema: dict[str, Any]) -> None:
    order, pay = operation(schema, "shop.order"), operation(schema, "shop.pay")
    assert codes(order, "400") == ["key_missing", "key_invalid", "body_invalid"]
    assert "202" not in order["responses"]
    assert codes(pay, "202") == ["outcome_unknown"]
    assert codes(operation(schema, "shop.put"), "400") == ["key_invalid", "body_invalid"]
    for guarded in (order, pay):
        assert codes(guarded, "409") == ["in_progress"]
        assert codes(guarded, "422") == ["key_reused"], "one code stands there twice"
        assert codes(guarded, "413") == ["body_too_large"]
        assert codes(guarded, "503") == ["unavailable"]
        assert "Retry-After" in guarded["responses"]["409"]["headers"]


def test_what_the_adopter_says_of_a_status_stays(schema: dict[str, Any]) -> None:
    responses = operation(schema, "shop.pay")["responses"]
    assert responses["400"]["content"]["application/json"]["schema"] == TEXT
    assert "application/problem+json" in responses["400"]["content"]
    either = responses["401"]["content"]["application/problem+json"]["schema"]["anyOf"]
    assert either[0] == TEXT
    assert list(responses) == sorted(responses)


def test_only_what_may_be_replayed_has_the_marker(schema: dict[str, Any]) -> None:
    responses = operation(schema, "shop.pay")["responses"]
    marked = [s for s, r in responses.items() if "Idempotent-Replayed" in r.get("headers", {})]
    assert marked == ["200", "400", "422"]


@example("x" * 255)
@example('"' + "x" * 255 + '"')
@example('"a\\"b"; q=1;r="y"')
@given(st.one_of(st.from_regex(PATTERN, fullmatch=True), st.text(max_size=20)))
def test_whatever_is_accepted_as_a_key_fits_the_published_pattern(header: str) -> None:
    try:
        keys.parse(header)
    except (KeyInvalid, KeyMissing):
        return
    assert re.search(PATTERN, header.strip(" \t")), f"{header!r} is accepted, and not published"


@given(st.from_regex(r"[!#-+\--~][!-+\--~]{0,254}", fullmatch=True))
def test_a_bare_key_that_fits_is_accepted(header: str) -> None:
    assert keys.parse(header) == header


def test_a_code_that_nobody_registered_is_refused() -> None:
    with pytest.raises(KeyError):
        problem_responses("no_such_code")
