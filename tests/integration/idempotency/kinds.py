"""Guarded views in every form in which a project may write them."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.generics import GenericAPIView
from rest_framework.parsers import BaseParser, FormParser, MultiPartParser
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from idempotency import idempotent
from tests.integration.idempotency.stage import effect, stage
from tests.integration.idempotency.views import HeaderAuthentication, Plain, Required, Staged


class Writes(HeaderAuthentication):
    """An authentication that leaves a trace, as some do with "last seen"."""

    def authenticate(self, request: Request) -> Any:
        found = super().authenticate(request)
        if found:
            request.user = found[0]
            effect(request, "seen")
        return found


class Seen(Required):
    authentication_classes = (Writes,)


class Inherits(Required):
    """A subclass that says nothing of its own."""


class Mixin:
    @idempotent()
    def post(self, request: Any) -> HttpResponseBase:
        return stage.play(request)


class Mixed(Mixin, Staged, APIView):
    """The guarded method comes from a class that is no view."""


class Generic(Staged, GenericAPIView):
    @extend_schema(summary="Above the guard")
    @method_decorator(never_cache)
    @idempotent()
    def post(self, request: Request) -> HttpResponseBase:
        return stage.play(request)


def noted(view: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(view)
    def noting(*arguments: Any, **keywords: Any) -> Any:
        return view(*arguments, **keywords)

    return noting


class Actions(Staged, ViewSet):
    """Guarded and unguarded actions side by side."""

    @noted
    @action(detail=False, methods=["post"])
    @idempotent()
    def pay(self, request: Request) -> HttpResponseBase:
        return stage.play(request)

    @action(detail=False, methods=["post"])
    def note(self, request: Request) -> HttpResponseBase:
        return stage.play(request)


class PlainSubclass(Plain):
    """A subclass of a plain view."""


@method_decorator(csrf_exempt, "dispatch")
class Batch(View):
    """An unguarded view of Django's, in whatever transaction it is given."""

    def post(self, request: HttpRequest) -> HttpResponseBase:
        return JsonResponse({"atomic": connection.in_atomic_block})


def in_transaction(request: Any) -> Response:
    """Says whether the handler runs in a transaction that it could roll back."""
    return Response({"atomic": connection.in_atomic_block})


class Peeks(BasePermission):
    """A permission that looks into the body, before the guard can."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if request.query_params:  # ?raw=1: as the guard's sentence advises
            assert request._request.body is not None
        return request.data is not None


class Streaming(BaseParser):
    """A parser of a project's own, which takes the stream as all of REST framework's once did."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        return json.loads(stream.read())


class Peeked(Required):
    permission_classes = (Peeks,)
    parser_classes = (Streaming, FormParser, MultiPartParser)


class Door(BasePermission):
    """A permission that the test gives and takes."""

    is_open = True

    def has_permission(self, request: Request, view: Any) -> bool:
        return Door.is_open


class Behind(Required):
    permission_classes = (IsAuthenticated, Door)
