"""One guarded view in plain Django, and the pages that come with the app."""

import base64
import json
from collections.abc import Callable
from functools import wraps

from django.contrib import admin
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from shop.models import Order

from idempotency import Refusal, idempotent

View = Callable[[HttpRequest], HttpResponse]


class TooMuch(Refusal):
    """Nobody may order for that much."""

    code = "too_much"


def with_password(view: View) -> View:
    """HTTP Basic, as a program would sign in."""

    @wraps(view)
    def signed_in(request: HttpRequest) -> HttpResponse:
        kind, _, given = request.headers.get("Authorization", "").partition(" ")
        if kind == "Basic":
            name, _, password = base64.b64decode(given).decode().partition(":")
            user = authenticate(request, username=name, password=password)
            if user is not None:
                request.user = user
        return view(request)

    return signed_in


@csrf_exempt
@with_password
@idempotent(operation="shop.order")
def order(request: HttpRequest) -> HttpResponse:
    amount = json.loads(request.body)["amount"]
    if amount > 1000:
        raise TooMuch(f"{amount} is more than 1000.", most=1000)
    made = Order.objects.create(buyer=request.user, amount=amount)
    return JsonResponse({"id": made.pk}, status=201, headers={"Location": f"/orders/{made.pk}"})


urlpatterns = [
    path("orders", order),
    path("problems/", include("idempotency.urls")),
    path("admin/", admin.site.urls),
]
