"""Where the staged views stand."""

from django.contrib import admin
from django.urls import include, path

from tests.integration.idempotency import views

urlpatterns = [
    path("required/", views.Required.as_view()),
    path("other/", views.Required.as_view()),
    path("leased/", views.Leased.as_view()),
    path("leased-plain/", views.plain_leased),
    path("optional/", views.Optional.as_view()),
    path("set/", views.Set.as_view({"post": "create", "put": "update"})),
    path("function/", views.function),
    path("plain/", views.plain),
    path("class/", views.Plain.as_view()),
    path("problems/", include("idempotency.urls")),
    path("admin/", admin.site.urls),
]
