"""One guarded view, the providers' address, and the pages that come with the apps."""

import json

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt

from idempotency import claim_of, idempotent
from shop.models import Invoice, Person


def tenant_and_person(request: HttpRequest) -> str | None:
    """Whose key it is: a person's, in one tenant."""
    tenant, name = request.headers.get("X-Tenant"), request.headers.get("X-Person")
    person = Person.objects.filter(username=name).first()
    return f"{tenant}:{person.pk}" if tenant and person else None


@csrf_exempt
@idempotent(operation="shop.invoice")
def invoice(request: HttpRequest) -> HttpResponse:
    asked = json.loads(request.body)
    made = Invoice.objects.create(
        tenant=request.headers["X-Tenant"],
        number=claim_of(request).reference[:12],
        owner=Person.objects.get(username=request.headers["X-Person"]),
        amount=asked["amount"],
    )
    return JsonResponse({"number": made.number}, status=201)


urlpatterns = [
    path("invoices", invoice),
    path("hooks/", include("fulfilment.urls")),
    path("problems/", include("idempotency.urls")),
    path("admin/", admin.site.urls),
]
