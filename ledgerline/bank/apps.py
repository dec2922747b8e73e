"""The bank: accounts, double entry, transfers, payments."""

from django.apps import AppConfig


class BankConfig(AppConfig):
    name = "ledgerline.bank"
    label = "bank"
    verbose_name = "Bank"

    def ready(self) -> None:
        from ledgerline.bank import airtime, outcomes

        outcomes.register()
        airtime.register()
