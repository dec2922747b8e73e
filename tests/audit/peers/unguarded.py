"""A payment view that nobody guards."""

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path

from tests.audit.peers import common

settings.configure(**common.SETTINGS, ROOT_URLCONF=__name__)


def pay(request: HttpRequest) -> JsonResponse:
    if request.method == "GET":
        return JsonResponse({"payments": []})
    try:
        paid = common.pay(owner=common.owner_of(request), body=request.body)
    except ValueError:
        return JsonResponse({"detail": "bad order"}, status=400)
    return JsonResponse(paid, status=201, headers={"Location": f"/payments/{paid['id']}"})


urlpatterns = [path("payments", pay)]
application = get_wsgi_application()
