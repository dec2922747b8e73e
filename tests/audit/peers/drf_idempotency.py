"""drf-idempotency 1.0 as its Quick Start has it: its app, its middleware, its database backend."""

from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.urls import path

from tests.audit.peers import common

settings.configure(
    **common.SETTINGS,
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["drf_idempotency", "rest_framework"],
    MIDDLEWARE=["drf_idempotency.middleware.IdempotencyMiddleware"],
    IDEMPOTENCY={"BACKEND": "drf_idempotency.backends.database.DatabaseBackend"},
    REST_FRAMEWORK={"UNAUTHENTICATED_USER": None},
)
application = get_wsgi_application()
call_command("migrate", verbosity=0)

from rest_framework.authentication import BaseAuthentication  # noqa: E402  settings come first
from rest_framework.request import Request  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402


class Bearer(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[str, None] | None:
        return (common.owner_of(request), None)


class Payments(APIView):
    authentication_classes = (Bearer,)

    def get(self, request: Request) -> Response:
        return Response({"payments": []})

    def post(self, request: Request) -> Response:
        try:
            paid = common.pay(owner=request.user, body=request._request.body)
        except ValueError:
            return Response({"detail": "bad order"}, status=400)
        return Response(paid, status=201, headers={"Location": f"/payments/{paid['id']}"})


urlpatterns = [path("payments", Payments.as_view())]
