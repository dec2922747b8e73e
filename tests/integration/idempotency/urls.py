"""Where the staged views stand."""

from django.contrib import admin
from django.db import transaction
from django.urls import include, path

from tests.integration.idempotency import async_views, kinds, views

urlpatterns = [
    path("required/", views.Required.as_view()),
    path("bare/", views.Bare.as_view()),
    path("throttled/", views.Throttled.as_view()),
    path("other/", views.Required.as_view()),
    path("leased/", views.Leased.as_view()),
    path("leased-plain/", views.plain_leased),
    path("optional/", views.Optional.as_view()),
    path("set/", views.Set.as_view({"post": "create", "put": "update"})),
    path("function/", views.function),
    path("plain/", views.plain),
    path("class/", views.Plain.as_view()),
    path("seen/", kinds.Seen.as_view()),
    path("peeked/", kinds.Peeked.as_view()),
    path("behind/", kinds.Behind.as_view()),
    path("inherits/", kinds.Inherits.as_view()),
    path("mixed/", kinds.Mixed.as_view()),
    path("generic/", kinds.Generic.as_view()),
    path("actions/pay/", kinds.Actions.as_view({"post": "pay"})),
    path("actions/note/", kinds.Actions.as_view({"post": "note"})),
    path("plain-subclass/", kinds.PlainSubclass.as_view()),
    path("batch/", kinds.Batch.as_view()),
    path("wrapped/", transaction.atomic(views.plain)),
    path("exempt/", transaction.non_atomic_requests(transaction.atomic(views.plain))),
    path("async/", async_views.awaited),
    path("async-class/", async_views.Awaited.as_view()),
    path("async-rest/", async_views.Rest.as_view()),
    path("problems/", include("idempotency.urls")),
    path("admin/", admin.site.urls),
]
