"""A view on which nobody can have a key is named at start."""

from typing import Any

import pytest
from django.http import HttpResponse
from django.views import View
from rest_framework.authentication import BasicAuthentication
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.views import APIView

from idempotency import idempotent
from idempotency.checks import check_principals
from tests.unit.idempotency.checks.urlconf import ids, routed


class Rest(APIView):
    authentication_classes = (BasicAuthentication,)
    permission_classes = (IsAuthenticated,)

    @idempotent()
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


class Nobody(Rest):
    authentication_classes = ()


class Anybody(Rest):
    permission_classes = (AllowAny,)


class Unchecked(Rest):
    permission_classes = ()


class Decides(Rest):
    """It finds out by itself; a check cannot know."""

    authentication_classes = ()
    permission_classes = ()

    def get_authenticators(self) -> Any:
        raise NotImplementedError

    def get_permissions(self) -> Any:
        raise NotImplementedError


class Plain(View):
    @idempotent()
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


@api_view(["POST"])
@authentication_classes([])
@permission_classes([AllowAny])
@idempotent()
def function(request: Any) -> HttpResponse:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (Rest.as_view(), []),
        (Nobody.as_view(), ["E013"]),
        (Rest.as_view(authentication_classes=[]), ["E013"]),
        (function, ["E013"]),
        (Anybody.as_view(), ["W013"]),
        (Unchecked.as_view(), ["W013"]),
        (Decides.as_view(), []),
        (Plain.as_view(), []),
    ],
)
def test_a_view_that_authenticates_nobody_is_refused(
    settings: Any, view: Any, said: list[str]
) -> None:
    routed(settings, view)
    assert ids(check_principals) == said


def test_a_scope_of_the_project_may_know_better(settings: Any) -> None:
    settings.IDEMPOTENCY = {"SCOPE": "tests.unit.idempotency.checks.test_principals.tenant"}
    routed(settings, Nobody.as_view(), Anybody.as_view())
    assert ids(check_principals) == []


def tenant(request: Any) -> str:
    raise NotImplementedError
