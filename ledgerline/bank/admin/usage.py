"""What customers used, as their own systems counted it."""

import json

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from ledgerline.bank.admin import facts
from ledgerline.bank.admin.readonly import Shown
from ledgerline.bank.models import UsageEvent

_USED = facts.moment("occurred_at", "used, by the customer's clock")
_RECORDED = facts.moment("recorded_at", "recorded, by ours")


@admin.register(UsageEvent)
class UsageEvents(Shown):
    """Each event once: its id is the customer's own name for it."""

    list_display = ["event_id", "whose", "type", "quantity", _USED, _RECORDED]
    list_select_related = ["user"]
    search_fields = ["=event_id", "user__username"]
    search_help_text = "The customer's own id of the event, or a part of the user name"
    empty = "No usage event fits what you chose."
    ordering = ["-id"]
    page = [
        facts.text("event_id", "the customer's own id"), "whose", facts.text("type", "type"),
        facts.text("quantity", "quantity"), "account_of_it", _USED, _RECORDED, "more",
    ]  # fmt: skip

    @admin.display(description="user", ordering="user__username")
    def whose(self, event: UsageEvent) -> SafeString:
        return facts.link("bank_user", event.user, event.user)

    @admin.display(description="account")
    def account_of_it(self, event: UsageEvent) -> SafeString | str:
        return facts.link("bank_account", event.account, event.account) if event.account else "none"

    @admin.display(description="what the customer said with it")
    def more(self, event: UsageEvent) -> SafeString | str:
        if not event.metadata:
            return "nothing"
        return format_html("<code>{}</code>", json.dumps(event.metadata, ensure_ascii=False))

    def title_of(self, row: UsageEvent) -> str:
        return f"Usage event {row.event_id}"
