"""The books in Django's admin: to be read. Nothing here can be changed, by superusers neither."""

from ledgerline.bank.admin.accounts import Accounts
from ledgerline.bank.admin.books import Entries, Holds, Postings
from ledgerline.bank.admin.orders import Payments, Transfers
from ledgerline.bank.admin.people import Users
from ledgerline.bank.admin.usage import UsageEvents

__all__ = [
    "Accounts",
    "Entries",
    "Holds",
    "Payments",
    "Postings",
    "Transfers",
    "UsageEvents",
    "Users",
]
