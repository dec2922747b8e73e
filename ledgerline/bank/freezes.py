"""Freezing and releasing accounts and customers: once, by a person, with a reason."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from django.db.models.functions import Now

from idempotency import gate
from ledgerline.bank import accounts, errors
from ledgerline.bank.models import Account, FreezeChange, User

Subject: TypeAlias = Account | User

FREEZE, RELEASE = "bank.freeze", "bank.release_frozen"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the subject stands, and whether this call made it so."""

    frozen: bool
    changed: bool
    last: FreezeChange | None  # the change that made it so


def freeze(subject: Subject, *, staff: Any, reason: str, seen: int) -> Outcome:
    """No money leaves the customer, or moves on the account, from this moment on.

    `seen` is the newest change that the person knew (`last_change`), 0 for none. What is frozen
    already stays as it is: it succeeds, restamps nothing and writes nothing. Raises
    `FreezeOvertaken` if somebody released it since, `gate.InProgress` while the same click is being
    carried out, `FreezeRefused` without the permission, without a reason or for the bank's own
    accounts.
    """
    return _change(subject, frozen=True, staff=staff, reason=reason, seen=seen)


def release(subject: Subject, *, staff: Any, reason: str, seen: int) -> Outcome:
    """Money moves again. As `freeze`, the other way round: a later freeze is not undone by it."""
    return _change(subject, frozen=False, staff=staff, reason=reason, seen=seen)


def last_change(subject: Subject) -> FreezeChange | None:
    """The newest change, which `frozen_at` follows."""
    return subject.freeze_changes.order_by("-pk").first()


def _change(subject: Subject, *, frozen: bool, staff: Any, reason: str, seen: int) -> Outcome:
    actor = _allowed(subject, frozen=frozen, staff=staff, reason=reason)
    verb = "freeze" if frozen else "release"
    kind = subject._meta.model_name  # noqa: SLF001  Django's public name for it
    try:
        # The same click again names the same change, and is told what became of it.
        with gate.claim(
            f"bank.{verb}_{kind}", target=str(subject.pk), key=f"after:{seen}", atomic=True
        ) as action:
            row = _locked(subject)
            newest = last_change(row)
            if (row.frozen_at is not None) == frozen:
                action.release()
                return Outcome(frozen, changed=False, last=newest)
            if newest is not None and newest.pk != seen:
                raise errors.FreezeOvertaken(newest)
            change = _apply(row, frozen=frozen, actor=actor, reason=reason.strip())
            action.settle(change.pk)
            return Outcome(frozen, changed=True, last=change)
    except gate.AlreadySettled:
        newest = last_change(subject)
        if newest is not None and newest.frozen != frozen:  # done then, and undone since
            raise errors.FreezeOvertaken(newest) from None
        return Outcome(frozen, changed=False, last=newest)


def _allowed(subject: Subject, *, frozen: bool, staff: Any, reason: str) -> str:
    if not staff.has_perm(FREEZE if frozen else RELEASE):
        raise errors.FreezeRefused("You do not have the permission for this.")
    if isinstance(subject, Account) and subject.kind != Account.Kind.CUSTOMER:
        raise errors.FreezeRefused("The bank's own accounts cannot be frozen.")
    if not reason.strip():
        raise errors.FreezeRefused("Say why: the customer will ask.")
    return f"staff:{staff.get_username()}"[:150]


def _locked(subject: Subject) -> Subject:
    """As it is now, and as it stays: a posting that has the lock is finished first."""
    if isinstance(subject, Account):
        return accounts.lock([subject])[subject.pk]
    return User.objects.select_for_update(no_key=True).get(pk=subject.pk)


def _apply(row: Subject, *, frozen: bool, actor: str, reason: str) -> FreezeChange:
    at = Now() if frozen else None
    known = {"frozen": frozen, "actor": actor, "reason": reason}
    if isinstance(row, Account):
        Account.objects.filter(pk=row.pk).update(frozen_at=at)
        return FreezeChange.objects.create(account=row, **known)
    User.objects.filter(pk=row.pk).update(frozen_at=at)
    return FreezeChange.objects.create(user=row, **known)
