"""A provider in memory with books of its own, and rows in every situation."""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import transaction

import fulfilment
from fulfilment import store, transitions
from fulfilment.connectors.base import (
    Accepted,
    Capabilities,
    Declined,
    Dedupe,
    Done,
    Instruction,
    LookUp,
    NoInformation,
    NotFound,
    NotSent,
    Outcome,
    Refused,
    Reversed,
    Unknown,
)
from fulfilment.models import Attempt, Evidence, Fulfilment
from fulfilment.reconcile import lookups, resolve
from fulfilment.reconcile.evidence import HAPPENED, Finding, Source, Statement
from fulfilment.reconcile.record import record
from fulfilment.states import State

PROMISES = Capabilities(
    dedupe=Dedupe.REFERENCE_FOREVER,
    visible_after=timedelta(0),
    not_found_final_after=timedelta(0),
)


class Provider:
    """Books a reference once, and does with the answer what `will` says. The oracle."""

    def __init__(self) -> None:
        self.books: dict[str, int] = {}
        self.sends: list[str] = []
        self.questions: list[str] = []
        self.given_back: set[str] = set()
        self.will: deque[str | Callable[[Instruction], Outcome]] = deque()
        self.can_be_asked = True
        self.capabilities = PROMISES
        self.named = ""  # whom its answers name
        self.expected = ""  # whom they have to name for our instruction

    def promises(self, **changed: Any) -> None:
        self.capabilities = replace(self.capabilities, **changed)

    def send(self, instruction: Instruction) -> Outcome:
        self.sends.append(instruction.reference)
        fault = self.will.popleft() if self.will else "ok"
        if callable(fault):
            return fault(instruction)
        if fault in {"ok", "lose_answer"}:
            self.books.setdefault(instruction.reference, instruction.amount)
        return self._answer(fault, instruction)

    def _answer(self, fault: str, instruction: Instruction) -> Outcome:
        match fault:
            case "ok":
                return self.done(instruction.reference)
            case "lose_answer" | "lose_request":
                return Unknown(reason="ReadTimeout")
            case "decline":
                return Declined(reason="closed account", status="failed")
            case "refuse":
                return Refused(reason="rate limit")
            case "not_sent":
                return NotSent(reason="ConnectError")
            case "accept":
                return Accepted(status="queued")
            case _:
                raise RuntimeError(fault)

    def look_up(self, reference: str) -> LookUp:
        self.questions.append(reference)
        if not self.can_be_asked:
            return NoInformation(reason="HTTP 503")
        if reference in self.given_back:
            return Reversed(amount=self.books[reference], currency="NGN", status="reversed")
        return self.done(reference) if reference in self.books else NotFound(body=b"{}")

    def give_back(self, reference: str) -> None:
        self.given_back.add(reference)

    def done(self, reference: str) -> Done:
        return Done(
            amount=self.books[reference],
            currency="NGN",
            provider_id=f"pay_{reference[:8]}",
            status="succeeded",
            body=b'{"status":"succeeded"}',
            recipient=self.named,
        )


class InMemory:
    """The connector: hands everything to the `PROVIDER` of its settings."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._provider: Provider = settings["PROVIDER"]

    @property
    def capabilities(self) -> Capabilities:
        return self._provider.capabilities

    def send(self, instruction: Instruction, /) -> Outcome:
        return self._provider.send(instruction)

    def recipient(self, instruction: Mapping[str, Any], /) -> str:
        return self._provider.expected

    def look_up(self, reference: str, /) -> LookUp:
        return self._provider.look_up(reference)


class Books:
    """The project's own side: counts what each outcome did to it."""

    def __init__(self) -> None:
        self.told: Counter[str] = Counter()
        self.refuses: Exception | None = None
        self.refuses_outcome = ""  # one only, with a ValueError
        self.twin = ""
        self.again = 0  # how many references its own rule wants; 0: it has none
        self.corrected = fulfilment.Corrected(note="taken from the customer")

    def handlers(self) -> fulfilment.Handlers:
        return fulfilment.Handlers(
            on_fulfilled=self._tell("fulfilled"),
            on_failed=self._tell("failed"),
            on_reversed=self._tell("reversed"),
            on_cancelled=lambda row: self._tell("cancelled")(row, None),
            again=lambda row, said: row.generation < self.again,
            corrections=fulfilment.Corrections(
                twin=lambda row: self.twin,
                on_corrected=lambda row, said: self._tell("corrected")(row, said) or self.corrected,
                on_paid_twice=lambda row, said: self._tell("twice")(row, said) or "in suspense",
            ),
        )

    def _tell(self, outcome: str) -> Callable[[Fulfilment, Evidence | None], None]:
        def handler(row: Fulfilment, evidence: Evidence | None) -> None:
            if self.refuses is not None:
                raise self.refuses
            if outcome == self.refuses_outcome:
                raise ValueError(outcome)
            self.told[outcome] += 1

        return handler


def start(payment_id: str | None = None, **given: Any) -> Fulfilment:
    payment_id = payment_id or f"transfer:{uuid4().hex}"
    asked: dict[str, Any] = {
        "kind": "test",
        "event_id": payment_id,
        "payment_id": payment_id,
        "connector": "memory",
        "amount": 500,
        "currency": "NGN",
        "instruction": {"account": "0123456789", "bank": "058"},
        "actor": "api:ada",
    }
    return fulfilment.start(**(asked | given))


@transaction.atomic
def held(row: Fulfilment, *, sent: bool, lease_over: bool = True) -> Attempt:
    """As a worker leaves the row that died with it in its hands, a while ago."""
    ago = timedelta(hours=2) if lease_over else timedelta(0)
    claimed_at = store.now() - ago
    attempt = Attempt.objects.create(
        fulfilment=row,
        number=row.attempts.count() + 1,
        token=uuid4(),
        worker="worker:gone",
        claimed_at=claimed_at,
        lease_until=claimed_at + timedelta(seconds=30),
    )
    if sent:
        Attempt.objects.filter(pk=attempt.pk).update(sent_at=claimed_at + timedelta(seconds=1))
    transitions.move(
        row,
        to=State.DISPATCHING,
        actor="worker:gone",
        reason="attempt",
        next_check_at=attempt.lease_until,
        attempt=attempt,
    )
    return Attempt.objects.get(pk=attempt.pk)


def unreadable(row: Fulfilment) -> None:
    """Evidence in a word that only a newer version knows: whoever judges the row raises."""
    Evidence.objects.create(
        fulfilment=row,
        source="sweep",
        finding="unheard_of",
        conclusive=False,
        recorded_at=store.now(),
        actor="version:next",
    )


def event(
    row: Fulfilment, finding: Finding, *, source: Source = Source.WEBHOOK, **said: Any
) -> Evidence:
    """The provider reports it by an event, which is recorded and judged as the inbox does it."""
    happened = finding in HAPPENED
    known = {"amount": row.amount, "currency": row.currency} if happened else {}
    statement = Statement(finding=finding, **(known | said))
    evidence = record(row, statement, source=source, actor="provider:memory")
    resolve.resolve(row.pk, news=[evidence.pk])
    return evidence


def denied(row: Fulfilment, provider: Provider) -> None:
    """Reported as not done after it was done, by a provider that cannot be asked about it now."""
    provider.can_be_asked = False
    event(row, Finding.NOT_DONE)
    lookups.look_up_due()


def due(row: Fulfilment) -> None:
    """Let the next check of the row be due now."""
    Fulfilment.objects.filter(pk=row.pk).update(next_check_at=store.now())


def now(row: Fulfilment) -> Fulfilment:
    return Fulfilment.objects.get(pk=row.pk)


def path(row: Fulfilment) -> list[str]:
    """The states through which the journal says that the row went."""
    return ["pending", *row.transitions.order_by("version").values_list("after", flat=True)]


def staff(name: str, *permissions: str, superuser: bool = False) -> Any:
    user = get_user_model().objects.create(username=name, is_staff=True, is_superuser=superuser)
    wanted = Permission.objects.filter(
        content_type__app_label="fulfilment", codename__in=permissions
    )
    user.user_permissions.set(wanted)
    return user
