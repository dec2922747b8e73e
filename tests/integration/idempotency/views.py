"""Guarded views of every kind, all playing what the test put on the stage."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.authentication import BaseAuthentication
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.parsers import FormParser, JSONParser, MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView, exception_handler
from rest_framework.viewsets import ViewSet

from idempotency import Progress, Record, idempotent
from idempotency.throttling import UserRate
from tests.integration.idempotency.stage import stage


@dataclass(frozen=True)
class Principal:
    pk: UUID
    is_authenticated: bool = True


class HeaderAuthentication(BaseAuthentication):
    """`X-User: <uuid>` is who you say you are; `X-User: bad` has wrong credentials."""

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        name = request.headers.get("X-User")
        if name == "bad":
            raise AuthenticationFailed
        return (Principal(UUID(name)), None) if name else None

    def authenticate_header(self, request: Request) -> str:
        return "Test"


class Staged:
    """REST framework as it comes, whatever the service around the test has set."""

    authentication_classes = (HeaderAuthentication,)
    permission_classes = (IsAuthenticated,)
    parser_classes = (JSONParser, FormParser, MultiPartParser)
    renderer_classes = (JSONRenderer,)
    throttle_classes = ()

    def get_exception_handler(self) -> Callable[..., Any]:
        return exception_handler


class Required(Staged, APIView):
    @idempotent(operation="stage.required", progress="tell")
    def post(self, request: Request) -> HttpResponseBase:
        return stage.play(request)

    @idempotent(operation="stage.put")
    def put(self, request: Request) -> HttpResponseBase:
        return stage.play(request)

    @idempotent(operation="stage.read")
    def get(self, request: Request) -> HttpResponseBase:
        return stage.play(request)

    def tell(self, request: Request, record: Record) -> Progress:
        assert stage.progress is not None
        return stage.progress(request, record)


class Bare(Staged, APIView):
    """What every helper for tests must find fault with."""

    def post(self, request: Request) -> HttpResponseBase:
        return stage.play(request)


class TwoAMinute(UserRate):
    rate = "2/min"


class Throttled(Required):
    throttle_classes = (TwoAMinute,)


class Optional(Staged, APIView):
    @idempotent(required=False)
    def post(self, request: Request) -> HttpResponseBase:
        return stage.play(request)


class Leased(Staged, APIView):
    @idempotent(mode="leased", operation="stage.leased", recover="ask")
    def post(self, request: Request) -> HttpResponseBase:
        return stage.play(request)

    def ask(self, record: Record) -> object:
        return stage.ask(record)


class Set(Staged, ViewSet):
    @idempotent()
    def create(self, request: Request) -> HttpResponseBase:
        return stage.play(request)

    def update(self, request: Request) -> HttpResponseBase:
        return stage.play(request)


@api_view(["POST"])
@authentication_classes([HeaderAuthentication])
@permission_classes([IsAuthenticated])
@idempotent()
def function(request: Request) -> HttpResponseBase:
    return stage.play(request)


def signed_in(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A plain view's authentication, above the guard as it must be."""

    @csrf_exempt
    def checked(request: HttpRequest, *arguments: Any, **keywords: Any) -> HttpResponseBase:
        name = request.headers.get("X-User")
        if name:
            request.user = Principal(UUID(name))  # type: ignore[assignment]
        return view(request, *arguments, **keywords)

    return checked


@signed_in
@idempotent()
def plain(request: HttpRequest) -> HttpResponseBase:
    return stage.play(request)


@signed_in
@idempotent(mode="leased", recover=lambda record: stage.ask(record))
def plain_leased(request: HttpRequest) -> HttpResponseBase:
    return stage.play(request)


@method_decorator(csrf_exempt, "dispatch")
class Plain(View):
    def dispatch(self, request: HttpRequest, *arguments: Any, **keywords: Any) -> HttpResponseBase:
        request.user = Principal(UUID(request.headers["X-User"]))  # type: ignore[assignment]
        return super().dispatch(request, *arguments, **keywords)

    @idempotent()
    def post(self, request: HttpRequest) -> HttpResponseBase:
        return stage.play(request)


def unguarded(request: HttpRequest) -> HttpResponse:
    return HttpResponse("not guarded")
