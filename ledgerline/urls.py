"""Every address of the service."""

from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView

from ledgerline import health, metrics

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("favicon.ico", RedirectView.as_view(url=static("ledgerline/icon.svg"))),
    path("admin/", admin.site.urls),
    path("healthz", health.alive),
    path("readyz", health.ready),
    path("readyz/machine", health.machine),
    path("metrics", metrics.metrics),
    path("problems/", include("idempotency.urls")),
    path("guides/", include("ledgerline.guides")),
    path("v1/", include("ledgerline.bank.api.urls")),
    path("v1/", include("fulfilment.urls")),
    path(
        "v1/schema/", SpectacularAPIView.as_view(authentication_classes=[], permission_classes=[])
    ),
]

handler400 = "ledgerline.problems.bad_request"
handler403 = "ledgerline.problems.forbidden"
handler404 = "ledgerline.problems.not_found"
handler500 = "ledgerline.problems.server_error"
