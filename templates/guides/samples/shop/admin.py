"""The same as an admin action: ten clicks, or two colleagues, call the courier once."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from idempotency import NothingHappened, OutcomeUnknown, gate

from .models import Order
from .recalls import recall


@admin.register(Order)
class OrderAdmin(admin.ModelAdmin):
    actions = ["recall_parcels"]

    @admin.action(description="Call the parcels back", permissions=["change"])
    def recall_parcels(self, request: HttpRequest, orders: QuerySet[Order]) -> None:
        for order in orders:
            try:
                recall(order)
            except (gate.NotClaimed, NothingHappened, OutcomeUnknown) as error:
                self.message_user(request, f"{order}: {error}", messages.WARNING)
            else:
                self.message_user(request, f"{order}: called back", messages.SUCCESS)
