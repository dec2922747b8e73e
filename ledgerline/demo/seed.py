"""The demo's cast: customers with money, three members of staff. Running it again adds nothing."""

import secrets
from typing import Any

from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Concat

from ledgerline import tokens
from ledgerline.bank import accounts
from ledgerline.bank.models import Account, Posting, User
from ledgerline.bank.posting import Leg, post

CURRENCY = "NGN"
OPENING = 50_000_000_00  # kobo; topped up when less than half of it is left to spend
CUSTOMERS = {
    "ada": "0123456780",
    "bola": "0123456789",
    "chidi": "0123456783",
    "dayo": "0123456784",  # these two live in the simulator
    "efe": "0123456785",
}
# Who may decide what became of a payment; everybody on the staff may look and ask.
AGENT = ("ask_provider", "cancel_pending", "ask_held")
DECIDES = (
    *AGENT,
    *("resolve_fulfilled", "resolve_failed", "correct_failed", "send_again"),
    "replay_event",
    *("settle_held", "release_held", "view_body"),
    *("settle_held_action", "release_held_action"),
    *("freeze", "release_frozen"),
)
STAFF = {
    "agent": AGENT,
    "senior": DECIDES,
    "lead": DECIDES,  # the second person, above the limit of one
}
SEEN_BY_STAFF = ("bank", "fulfilment", "idempotency")


@transaction.atomic
def run() -> dict[str, Any]:
    """Make what is missing; returns fresh tokens and fresh staff passwords, as `demo.json` has them."""
    return {
        "users": {name: _customer(name, number) for name, number in CUSTOMERS.items()},
        "staff": {name: _member(name, rights) for name, rights in STAFF.items()},
    }


def _customer(name: str, number: str) -> dict[str, str]:
    user, made = User.objects.get_or_create(username=name, defaults={"first_name": name.title()})
    if made:
        user.set_unusable_password()  # customers come with a token, never through the admin
        user.save(update_fields=["password"])
    _fund(_account(user, number))
    return {"token": tokens.issue(user), "account": number}


def _account(user: User, number: str) -> Account:
    found = Account.objects.filter(number=number).first()
    return found or accounts.open_for(user, number=number, currency=CURRENCY, name="current")


def _fund(account: Account) -> None:
    """By double entry, as all money: the bank's funding account gives what the customer gets."""
    missing = OPENING - account.available
    if missing <= OPENING // 2:
        return
    funding = accounts.internal(Account.Role.FUNDING, currency=account.currency)
    post(
        Leg(funding, -missing),
        Leg(account, missing),
        kind=Posting.Kind.FUNDING,
        description="demo money",
        fact=True,  # also into an account that somebody froze to see what happens
    )


def _member(name: str, rights: tuple[str, ...]) -> dict[str, str]:
    """In a group of the same name, so that the admin shows who may do what."""
    password = secrets.token_urlsafe(12)
    user, _ = User.objects.get_or_create(username=name, defaults={"first_name": name.title()})
    user.is_staff = True
    user.set_password(password)
    user.save(update_fields=["is_staff", "password"])
    group, _ = Group.objects.get_or_create(name=name)
    group.permissions.set(_permissions(rights))
    user.groups.add(group)
    return {"password": password}


def _permissions(rights: tuple[str, ...]) -> list[Permission]:
    known = Permission.objects.filter(content_type__app_label__in=SEEN_BY_STAFF)
    looks = known.filter(codename=Concat(Value("view_"), "content_type__model"))
    return [*looks, *known.filter(codename__in=rights)]
