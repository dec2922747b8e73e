"""The addresses that providers know. A project mounts them where it likes (`include`)."""

from django.urls import path

from fulfilment.webhooks import views

app_name = "fulfilment"
urlpatterns = [path("webhooks/<str:provider>", views.receive, name="webhook")]
