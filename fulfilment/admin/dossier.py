"""All that is on record about one fulfilment, read once, for one page."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet

from fulfilment import store
from fulfilment.admin import words
from fulfilment.connectors import registry
from fulfilment.models import (
    Attempt,
    Case,
    CaseAction,
    Evidence,
    Finding,
    Fulfilment,
    Payload,
    Source,
    Transition,
)
from fulfilment.reconcile import contradiction, policy, proposals, reading
from fulfilment.reconcile.situation import Situation
from fulfilment.reconcile.verdicts import Conflict
from fulfilment.states import State

# What the provider itself said, by whatever way it reached us.
PROVIDER_SOURCES = (Source.RESPONSE, Source.LOOKUP, Source.WEBHOOK, Source.STATEMENT)
# Answers that describe the payment, not the trouble of asking for it.
TELLING = (Finding.DONE, Finding.NOT_DONE, Finding.ACCEPTED, Finding.REVERSED)


@dataclass(frozen=True, slots=True)
class Dossier:
    """The row and its history, each list oldest first; `now` is the moment the page is made."""

    fulfilment: Fulfilment
    attempts: tuple[Attempt, ...]
    evidence: tuple[Evidence, ...]
    transitions: tuple[Transition, ...]
    cases: tuple[Case, ...]
    actions: tuple[CaseAction, ...]
    situation: Situation  # as the rules see it
    connected: bool  # False: its connector was taken out of the settings, or cannot be built
    proposal: CaseAction | None  # the verdict that waits for a second person and still stands
    now: datetime

    @property
    def state(self) -> State:
        """Where it stands."""
        return State(self.fulfilment.state)

    @property
    def number(self) -> str:
        """The payee's full number: to hide, never to show."""
        return words.number_of(self.fulfilment.instruction)

    @property
    def open_case(self) -> Case | None:
        """The case a person works on now, if one is open."""
        return next((case for case in self.cases if case.closed_at is None), None)

    @property
    def sent(self) -> tuple[Attempt, ...]:
        """The attempts that may have reached the provider."""
        return tuple(a for a in self.attempts if a.sent_at is not None or a.maybe_sent)

    @property
    def decision(self) -> Transition | None:
        """The last move, if it was a verdict."""
        last = self.transitions[-1] if self.transitions else None
        return None if last is None or State(last.after).is_open else last

    @property
    def contradiction(self) -> str:
        """How the provider's newest word contradicts the verdict that stands; empty: it does not."""
        if self.state.is_open or self.theirs is None:
            return ""
        return contradiction.with_verdict(self.state, reading.fact_of(self.theirs))

    @property
    def clashes(self) -> bool:
        """Does what is known of an unknown payment contradict, so that no answer settles it?"""
        unknown = self.state is State.NEEDS_RECONCILIATION
        return unknown and isinstance(policy.decide(self.situation), Conflict)

    @property
    def said(self) -> tuple[Evidence, ...]:
        """What the provider said or failed to say, oldest first."""
        return tuple(e for e in self.evidence if e.source in PROVIDER_SOURCES)

    @property
    def theirs(self) -> Evidence | None:
        """The provider's newest answer that describes the payment."""
        return next((e for e in reversed(self.said) if e.finding in TELLING), None)


def load(fulfilment: Fulfilment) -> Dossier:
    """Reads the whole history; `now` is the database's clock, like every time on the page."""
    return Dossier(
        fulfilment=fulfilment,
        attempts=tuple(Attempt.objects.filter(fulfilment_id=fulfilment.pk).order_by("number")),
        evidence=tuple(_evidence(fulfilment)),
        transitions=tuple(
            Transition.objects.filter(fulfilment_id=fulfilment.pk).order_by("version")
        ),
        cases=tuple(
            Case.objects.filter(fulfilment_id=fulfilment.pk).select_related("owner").order_by("id")
        ),
        actions=tuple(
            CaseAction.objects.filter(case__fulfilment_id=fulfilment.pk)
            .select_related("case")
            .order_by("acted_at", "id")
        ),
        situation=reading.situation_of(fulfilment),
        connected=registry.can_be_used(fulfilment.connector),
        proposal=_proposal(fulfilment),
        now=store.now(),
    )


def _evidence(fulfilment: Fulfilment) -> QuerySet[Evidence]:
    body = Payload.objects.filter(evidence=OuterRef("pk"))
    said = Evidence.objects.filter(fulfilment_id=fulfilment.pk).order_by("id")
    return said.annotate(has_body=Exists(body))


def _proposal(fulfilment: Fulfilment) -> CaseAction | None:
    standing = proposals.standing(fulfilment)
    return None if standing is None or proposals.voided_by(fulfilment, standing) else standing
