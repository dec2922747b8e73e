"""The fixed cast: who works here, and payments in the states that matter to them."""

from datetime import timedelta
from itertools import count
from typing import Any
from uuid import uuid4

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import transaction
from django.utils import timezone

from fulfilment import transitions
from fulfilment.models import Attempt, Case, CaseReason, Evidence, Finding, Fulfilment, Source
from fulfilment.states import State, reference_of
from tests.integration.fulfilment import walk

ACCOUNT = "0123456789"
WORKER = "worker:w1:7"
VIEW = ("view_reconciliation", "view_fulfilment")
DECIDE = (
    "resolve_fulfilled", "resolve_failed", "ask_provider", "cancel_pending", "correct_failed",
)  # fmt: skip
_numbers = count(1)


def person(name: str, *, permissions: tuple[str, ...] = (), **more: Any) -> Any:
    """A member of staff with exactly these permissions."""
    user = get_user_model().objects.create_user(name, is_staff=True, **more)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def senior() -> Any:
    """May see and decide everything."""
    return person("senior", permissions=VIEW + DECIDE)


def viewer() -> Any:
    """May look only."""
    return person("viewer", permissions=VIEW)


def payment(
    *, amount: int = 10000, currency: str = "NGN", account: str = ACCOUNT,
    age: timedelta = timedelta(minutes=10), connector: str = "sandbox",
) -> Fulfilment:  # fmt: skip
    """A payment that waits to be sent, asked for `age` ago."""
    number, asked = next(_numbers), timezone.now() - age
    payment_id = f"transfer:{uuid4().hex}"
    return Fulfilment.objects.create(
        kind="payout",
        event_id=f"api:{number}:{uuid4().hex}",
        payment_id=payment_id,
        reference=reference_of(payment_id, connector=connector, generation=1),
        connector=connector,
        amount=amount,
        currency=currency,
        instruction={"bank": "058", "account": account, "narration": f"for {account}"},
        next_check_at=asked,
        started_by=f"user:{uuid4()}",
        created_at=asked,
        state_changed_at=asked,
    )


@transaction.atomic
def unknown(
    *, fenced: bool = True, next_check: timedelta = timedelta(minutes=5), **facts: Any
) -> Fulfilment:
    """Sent, and the answer never came: the row of the queue."""
    row = payment(**facts)
    attempt = attempted(row, fenced=fenced)
    row = moved(row, State.DISPATCHING, reason="claimed", attempt=attempt)
    answer = said(row, Finding.UNKNOWN, source=Source.RESPONSE, attempt=attempt, detail="no answer")
    close(attempt)
    return moved(
        row, State.NEEDS_RECONCILIATION, reason="nobody knows yet", evidence=answer,
        next_check_at=timezone.now() + next_check,
    )  # fmt: skip


def attempted(row: Fulfilment, *, fenced: bool = True) -> Attempt:
    """An attempt that was sent: long ago, or so recently that it may still be under way."""
    ago = timedelta(minutes=5) if fenced else timedelta(seconds=5)
    claimed = timezone.now() - ago
    attempt = Attempt.objects.create(
        fulfilment=row, number=row.attempts.count() + 1, token=uuid4(), worker=WORKER,
        claimed_at=claimed, lease_until=claimed + timedelta(seconds=30),
    )  # fmt: skip
    Attempt.objects.filter(pk=attempt.pk).update(sent_at=claimed + timedelta(milliseconds=20))
    return attempt


def close(attempt: Attempt, *, outcome: str = "unknown") -> None:
    """The attempt is over for us."""
    Attempt.objects.filter(pk=attempt.pk).update(closed_at=timezone.now(), outcome=outcome)


def moved(row: Fulfilment, to: State, *, reason: str, **more: Any) -> Fulfilment:
    """Moved by the one function that moves."""
    if to.is_open:
        more.setdefault("next_check_at", timezone.now() + timedelta(minutes=1))
    if to in walk.FINDING and "evidence" not in more:
        by_hand = more.get("actor", "").startswith("staff:") or row.state == State.FAILED
        source = Source.PERSON if by_hand else Source.LOOKUP
        more["evidence"] = walk.said(row, walk.FINDING[to], source=source)
    found = transitions.move(row, to=to, actor=more.pop("actor", WORKER), reason=reason, **more)
    assert found is not None, "the row was moved by somebody else"
    return found


def said(
    row: Fulfilment, finding: Finding, *, source: Source = Source.LOOKUP, **more: Any
) -> Evidence:
    """The provider said it, now."""
    more = {"conclusive": False, "actor": "provider:sandbox", "recorded_at": timezone.now()} | more
    return Evidence.objects.create(fulfilment=row, source=source, finding=finding, **more)


def case(row: Fulfilment, *, reason: CaseReason = CaseReason.DEADLINE, **more: Any) -> Case:
    """An open case."""
    return Case.objects.create(
        fulfilment=row, reason=reason, opened_at=timezone.now(), opened_by="resolver", **more
    )
