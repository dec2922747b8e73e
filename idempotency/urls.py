"""The pages that explain problems: include() these under PROBLEM_BASE_URL."""

from django.urls import path

from idempotency import views

app_name = "idempotency"

urlpatterns = [
    path("", views.index, name="problems"),
    path("<slug:code>/", views.explain, name="problem"),
]
