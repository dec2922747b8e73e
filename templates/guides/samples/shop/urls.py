"""Guarded views, and the pages that the `type` of each problem points to."""

from django.contrib import admin
from django.urls import include, path

from .async_parcels import AsyncParcels
from .orders import Orders
from .parcels import Parcels

urlpatterns = [
    path("orders", Orders.as_view()),
    path("parcels", Parcels.as_view()),
    path("parcels/async", AsyncParcels.as_view()),
    path("problems/", include("idempotency.urls")),
    path("admin/", admin.site.urls),
]
