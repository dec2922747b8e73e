"""What can be decided of a payment in its state, and what only seems so."""

from fulfilment.admin import afterwards, outcomes, proposed, verdicts
from fulfilment.admin.access import Access
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.outcomes import Outcome
from fulfilment.states import State


def decisions(dossier: Dossier, access: Access) -> tuple[Outcome, ...]:
    """The outcomes in the order in which they stand on the page; an open proposal comes first."""
    if dossier.proposal is not None:
        return proposed.outcomes(dossier, dossier.proposal, access)
    match dossier.state:
        case State.PENDING | State.DISPATCHING:
            return (outcomes.cancel(dossier, access),)
        case State.NEEDS_RECONCILIATION:
            return verdicts.outcomes(dossier, access)
        case _:
            return afterwards.outcomes(dossier, access)
