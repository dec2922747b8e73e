"""The bank's part of /v1/."""

from django.urls import path, re_path

from ledgerline.bank.api.accounts import Accounts, Entries
from ledgerline.bank.api.confirmations import Confirmations
from ledgerline.bank.api.payments import OnePayment, Payments
from ledgerline.bank.api.transfers import Cancellation, OneTransfer, Transfers
from ledgerline.bank.api.usage import UsageEvents

app_name = "bank"

urlpatterns = [
    path("transfers", Transfers.as_view(), name="transfers"),
    path("transfers/<uuid:pk>", OneTransfer.as_view(), name="transfer"),
    path("transfers/<uuid:pk>/cancel", Cancellation.as_view(), name="cancellation"),
    path("transfer-confirmations", Confirmations.as_view(), name="confirmations"),
    path("payments", Payments.as_view(), name="payments"),
    path("payments/<uuid:pk>", OnePayment.as_view(), name="payment"),
    path("usage-events", UsageEvents.as_view(), name="usage-events"),
    path("accounts", Accounts.as_view(), name="accounts"),
    re_path(r"^accounts/(?P<number>[0-9]{10})/entries\Z", Entries.as_view(), name="entries"),
]
