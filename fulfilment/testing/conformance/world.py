"""One connector in the real machine: its own kind, its own name in the settings, its own provider."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast
from uuid import uuid4

from django.conf import settings as project
from django.http import HttpResponse
from django.test import override_settings

import fulfilment
from fulfilment import rounds, transitions
from fulfilment.connectors import registry
from fulfilment.connectors.base import Capabilities, Connector, Instruction
from fulfilment.dispatch import attempt
from fulfilment.models import Case, Evidence, Fulfilment
from fulfilment.reconcile import lookups, resolve
from fulfilment.reconcile.evidence import Finding
from fulfilment.states import State
from fulfilment.testing.conformance.faults import SLOW, Fault
from fulfilment.testing.conformance.rig import Hooks, Rig
from fulfilment.testing.deliveries import deliver
from fulfilment.testing.passing import make_due, pass_time

NAME: Final = "conformance"  # of the connector, of the provider of events and of the kind
_SHORT: Final = timedelta(seconds=0.4)  # a deadline, where a fault takes all the time there is
_MOMENT: Final = timedelta(minutes=1)  # after which events may make us ask the same again
_TRIES: Final = 4  # look-ups until what the provider knows must be known here


@dataclass
class World:
    """What the tests of `Conformance` use. `told` counts what the project's books were told."""

    rig: Rig
    folder: Path
    told: Counter[str] = field(default_factory=Counter)

    @property
    def connector(self) -> Connector:
        """Built anew, as for every use."""
        return registry.build(NAME)

    @property
    def promises(self) -> Capabilities:
        """What the connector declares."""
        return self.connector.capabilities

    @property
    def hooks(self) -> Hooks:
        """The provider's events; only where it sends some."""
        return cast("Hooks", self.rig.hooks)

    def start(self) -> Fulfilment:
        """A payment that is due, under a reference of its own."""
        name = f"{NAME}:{uuid4().hex}"
        return fulfilment.start(
            kind=NAME,
            event_id=name,
            payment_id=name,
            connector=NAME,
            amount=self.rig.amount,
            currency=self.rig.currency,
            instruction=self.rig.instruction,
            actor=NAME,
        )

    def order(self, reference: str = "", *, deadline: timedelta = timedelta(10)) -> Instruction:
        """What the machine would hand to the connector."""
        return Instruction(
            reference=reference or uuid4().hex,
            amount=self.rig.amount,
            currency=self.rig.currency,
            instruction=self.rig.instruction,
            deadline=deadline,
        )

    @contextmanager
    def during(self, fault: Fault) -> Iterator[None]:
        """The fault meets every call of the block; what takes all the time there is gets little."""
        with _hasty(fault), self.rig.inject(fault):
            yield

    def send(self, row: Fulfilment, fault: Fault | None = None) -> Fulfilment:
        """One attempt, as a worker makes it, now."""
        if row.state == State.PENDING:
            make_due(row)
        if fault is None:
            attempt.run(row.pk)
        else:
            with self.during(fault):
                attempt.run(row.pk)
        return self.now(row)

    def sent(self, fault: Fault | None = None) -> Fulfilment:
        """A payment of which one attempt was made."""
        return self.send(self.start(), fault)

    def send_again(self, row: Fulfilment, fault: Fault | None = None) -> Fulfilment:
        """A second attempt under the same reference, as where it was believed to be lost."""
        reason = "the suite sends it again"
        at = row.created_at
        transitions.move(row, to=State.PENDING, actor=NAME, reason=reason, next_check_at=at)
        return self.send(self.now(row), fault)

    def ask(self, row: Fulfilment) -> Fulfilment:
        """One look-up by the schedule."""
        make_due(row)
        rounds.look_up_round()
        return self.now(row)

    def find_out(self, row: Fulfilment) -> Fulfilment:
        """All that the provider knows of it by now, if it is open and can be asked."""
        self.rig.let_settle(row.reference)
        for _ in range(_TRIES if self.promises.lookup_by_reference else 0):
            row = self.now(row)
            if row.state != State.NEEDS_RECONCILIATION or self.cases(row):
                break
            row = self.ask(row)
        return self.now(row)

    def paid(self, fault: Fault | None = None) -> Fulfilment:
        """A payment that is done, with us and at the provider."""
        row = self.find_out(self.sent(fault))
        assert row.state == State.FULFILLED, (
            f"a payment that nothing disturbs has to be done, and it is {self.story(row)}"
        )
        return row

    def ask_about_decided(self, row: Fulfilment) -> Fulfilment:
        """A look-up of a row that has its verdict."""
        evidence = lookups.query(row, actor=NAME)
        resolve.resolve(row.pk, news=[evidence.pk] if evidence else [])
        return self.now(row)

    def tell(self, reference: str, said: Finding) -> bytes:
        """An event of the provider's, delivered and applied. Returns its body."""
        body = self.hooks.event(reference, said)
        self.deliver(body)
        self.hear()
        return body

    def hear(self) -> None:
        """Apply what was delivered; where it is only a reason to ask, also once that may be done."""
        rounds.apply_round()
        if not self.promises.webhook_authenticates_body:
            pass_time(_MOMENT)
            rounds.apply_round()

    def deliver(self, body: bytes, *, status: int = 200, **given: Any) -> HttpResponse:
        """One delivery of these bytes; `secret`, `at` or `headers` where they are odd."""
        at, secret = given.get("at", datetime.now(UTC)), given.get("secret", self.hooks.secret)
        headers = given.get("headers")
        if headers is None:
            headers = self.hooks.signed(body, secret=secret, at=at)
        return deliver(NAME, body, headers=headers, status=status)

    def now(self, row: Fulfilment) -> Fulfilment:
        """The row as it is now."""
        return Fulfilment.objects.get(pk=row.pk)

    def cases(self, row: Fulfilment) -> list[str]:
        """Why people are asked about it."""
        return list(Case.objects.filter(fulfilment=row).values_list("reason", flat=True))

    def story(self, row: Fulfilment) -> str:
        """Where it stands and what was said of it, for the message of a failed test."""
        said = Evidence.objects.filter(fulfilment=row).order_by("id")
        lines = [f"{e.source}: {e.finding} {e.provider_status} {e.detail}".strip() for e in said]
        happened = self.rig.effects(row.reference)
        return f"{self.now(row).state}; its books have it {happened} times; {'; '.join(lines) or 'nothing was said'}"

    def credentials(self, values: Mapping[str, str]) -> None:
        """What the files of the settings hold from now on."""
        for name, value in values.items():
            (self.folder / name).write_text(f"{value}\n")


@contextmanager
def world(rig: Rig, connector: Callable[[Mapping[str, Any]], Connector]) -> Iterator[World]:
    """The machine with this connector, for one test."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        made = World(rig=rig, folder=Path(folder))
        with override_settings(FULFILMENT=_settings(made, connector)):
            fulfilment.register(NAME, _handlers(made.told))
            yield made


def _handlers(told: Counter[str]) -> fulfilment.Handlers:
    def handler(outcome: str) -> Callable[[Fulfilment, Evidence], None]:
        return lambda row, evidence: told.update([outcome])

    return fulfilment.Handlers(
        on_fulfilled=handler("fulfilled"),
        on_failed=handler("failed"),
        on_reversed=handler("reversed"),
    )


def _settings(made: World, connector: Callable[[Mapping[str, Any]], Connector]) -> dict[str, Any]:
    """Those of the project, with one connector more; nothing of it hinted, and in no hurry."""
    given = {name.upper(): value for name, value in getattr(project, "FULFILMENT", {}).items()}
    own = dict(made.rig.settings()) | {"CLASS": connector}
    made.credentials({name: own.pop(name) for name in made.rig.credentials})
    own |= {f"{name}_FILE": str(made.folder / name) for name in made.rig.credentials}
    hooks = made.rig.hooks
    events = {"CONNECTOR": NAME, "SECRETS": [hooks.secret], **hooks.entry} if hooks else None
    return given | {
        "HINT": None,
        "EVENT_HINT": None,
        "LOOKUPS_PER_SECOND": 1000.0,
        "CONNECTORS": {**given.get("CONNECTORS", {}), NAME: own},
        "WEBHOOKS": {**given.get("WEBHOOKS", {}), **({NAME: events} if events else {})},
    }


@contextmanager
def _hasty(fault: Fault) -> Iterator[None]:
    if fault not in SLOW:
        yield
        return
    given: dict[str, Any] = project.FULFILMENT
    connectors = given["CONNECTORS"]
    own = connectors[NAME] | {"LOOK_UP_DEADLINE": _SHORT}
    hasty = given | {"TOTAL_DEADLINE": _SHORT, "CONNECTORS": connectors | {NAME: own}}
    with override_settings(FULFILMENT=hasty):
        yield
