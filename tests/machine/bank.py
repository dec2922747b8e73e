"""The provider of the policy's machine: what it recognises, what it shows, and what it has paid."""

from dataclasses import dataclass, field
from datetime import datetime

from fulfilment.connectors.base import Capabilities, Dedupe
from fulfilment.reconcile.evidence import HAPPENED, Finding


@dataclass
class Payment:
    """One line of its books, with the moment of each of its states."""

    began_at: datetime
    history: list[tuple[datetime, Finding]] = field(default_factory=list)
    forgotten: bool = False  # neither shown nor recognised any more, and it may still be paid

    def status(self, *, at: datetime) -> Finding | None:
        states = [finding for moment, finding in self.history if moment <= at]
        return states[-1] if states else None

    @property
    def last(self) -> Finding:
        return self.history[-1][1]

    @property
    def paid(self) -> bool:
        return any(finding in HAPPENED for _, finding in self.history)

    @property
    def can_be_paid(self) -> bool:
        return self.paid or self.last is Finding.ACCEPTED


@dataclass
class Bank:
    """It knows one reference of ours, by the promises that it makes."""

    promises: Capabilities
    payments: list[Payment] = field(default_factory=list)

    @property
    def effects(self) -> int:
        return sum(p.paid for p in self.payments)

    @property
    def may_pay(self) -> bool:
        return any(p.can_be_paid for p in self.payments)

    def receive(self, *, at: datetime, decides: Finding) -> Payment:
        """A request arrived: the payment that it is recognised as, or a new one."""
        if known := self.recognised(at=at):
            return known
        self.payments.append(Payment(at, [(at, decides)]))
        return self.payments[-1]

    def recognised(self, *, at: datetime) -> Payment | None:
        window = self.promises.dedupe_window
        for payment in reversed(self.payments):
            if self.promises.dedupe is Dedupe.NONE or payment.forgotten:
                continue
            if window is None or at < payment.began_at + window:
                return payment
        return None

    def shows(self, *, at: datetime) -> Finding | None:
        """What a look-up of a replica that is as it was `at` shows."""
        seen = [p.status(at=at) for p in self.payments if not p.forgotten]
        known = [finding for finding in seen if finding is not None]
        return known[-1] if known else None

    def undecided(self) -> Payment | None:
        return next((p for p in self.payments if p.last is Finding.ACCEPTED), None)
