"""Where the plays are."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from tests.concurrency.staged import views


def alive(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


urlpatterns = [
    path("healthz", alive),
    path("atomic/", views.Atomic.as_view()),
    path("leased/", views.Leased.as_view()),
    path("problems/", include("idempotency.urls")),
]
