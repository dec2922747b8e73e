"""Accounts: opening them, finding them, locking them in one order."""

from collections.abc import Iterable
from uuid import UUID

from ledgerline.bank import errors
from ledgerline.bank.models import Account, User

# Numbers of the bank's own accounts: this prefix, the role, the currency's letters as numbers.
INTERNAL_PREFIX = "99"


def open_for(owner: User, *, number: str, currency: str, name: str = "") -> Account:
    """A customer's new account, empty.

    Raises `ValueError` for a number that is the bank's own, `IntegrityError` for one that is taken.
    """
    if number.startswith(INTERNAL_PREFIX):
        raise ValueError(f"Numbers that begin with {INTERNAL_PREFIX} are the bank's own.")
    return Account.objects.create(
        number=number,
        owner=owner,
        kind=Account.Kind.CUSTOMER,
        name=name,
        currency=currency,
        balance=0,
        held=0,
    )


def internal(role: Account.Role, *, currency: str) -> Account:
    """The bank's own account for this role and currency; opened when first asked for."""
    account, _ = Account.objects.get_or_create(
        kind=Account.Kind.INTERNAL,
        name=role,
        currency=currency,
        defaults={"number": _internal_number(role, currency)},
    )
    return account


def of(owner: UUID, *, number: str | None, currency: str) -> Account:
    """The owner's account of this number, or the oldest in this currency.

    Raises `UnknownAccount` (also for somebody else's number) or `CurrencyMismatch`.
    """
    own = Account.objects.filter(owner=owner, kind=Account.Kind.CUSTOMER)
    if number is None:
        account = own.filter(currency=currency).order_by("pk").first()
    else:
        account = own.filter(number=number).first()
    if account is None:
        raise errors.UnknownAccount
    if account.currency != currency:
        raise errors.CurrencyMismatch(field="fromAccount")
    return account


def payee(number: str, *, currency: str) -> Account:
    """A customer's account to pay to. Raises `UnknownPayee` or `CurrencyMismatch`."""
    account = Account.objects.filter(number=number, kind=Account.Kind.CUSTOMER).first()
    if account is None:
        raise errors.UnknownPayee
    if account.currency != currency:
        raise errors.CurrencyMismatch(field="toAccount")
    return account


def owned(owner: UUID, *, numbers: Iterable[str]) -> dict[str, Account]:
    """The owner's accounts among these numbers, by number; what is not theirs is left out."""
    own = Account.objects.filter(owner=owner, kind=Account.Kind.CUSTOMER, number__in=list(numbers))
    return {account.number: account for account in own}


def lock(accounts: Iterable[Account]) -> dict[int, Account]:
    """The customers' accounts among these, locked and as they are now.

    Always in the order of their ids: A→B and B→A at once would otherwise wait for each other.
    Internal accounts have nothing to lock. FOR NO KEY UPDATE, because the entries' foreign keys
    only need the row to stay.
    """
    rows = (
        Account.objects.select_for_update(no_key=True)
        .filter(pk__in=[account.pk for account in accounts], kind=Account.Kind.CUSTOMER)
        .order_by("pk")
    )
    return {account.pk: account for account in rows}


def refuse_frozen_payer(account: Account) -> None:
    """Raises `AccountFrozen` or `UserFrozen`. Call with the account locked.

    The owner is read in a statement after the lock, so a freeze that was committed while we
    waited for the lock counts.
    """
    if account.frozen_at is not None:
        raise errors.AccountFrozen(field="fromAccount")
    if _owner_is_frozen(account):
        raise errors.UserFrozen


def refuse_frozen_payee(account: Account) -> None:
    """Raises `AccountFrozen`; also for a frozen owner, whose standing is nobody else's business."""
    if account.frozen_at is not None or _owner_is_frozen(account):
        raise errors.AccountFrozen(field="toAccount")


def _owner_is_frozen(account: Account) -> bool:
    return User.objects.filter(accounts=account, frozen_at__isnull=False).exists()


def _internal_number(role: Account.Role, currency: str) -> str:
    letters = "".join(f"{ord(letter) - ord('A') + 1:02d}" for letter in currency)
    return f"{INTERNAL_PREFIX}{list(Account.Role).index(role):02d}{letters}"
