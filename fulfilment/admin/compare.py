"""Ours beside theirs: what we asked for, what they say, and the difference in words."""

from dataclasses import dataclass

from django.utils.safestring import SafeString

from fulfilment.admin import words
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.money import money
from fulfilment.models import Evidence
from idempotency.times import when

NOT_SAID = "not said"


@dataclass(frozen=True, slots=True)
class Row:
    """One fact from both sides; `differs` is None where they said nothing."""

    label: str
    ours: str | SafeString
    theirs: str | SafeString
    differs: bool | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The table, and the difference row under it."""

    provider: str
    rows: tuple[Row, ...]
    difference: str
    differs: bool


def compare(dossier: Dossier) -> Comparison:
    """Everything that both sides may have said about the same payment."""
    rows = (_outcome(dossier), _amount(dossier), _payee(dossier), _name(dossier), _time(dossier))
    provider = words.provider(dossier.fulfilment.connector)
    differing = [row.label.lower() for row in rows if row.differs]
    return Comparison(provider, rows, _difference(dossier, provider, differing), bool(differing))


def _outcome(dossier: Dossier) -> Row:
    theirs = dossier.theirs
    said = NOT_SAID if theirs is None else theirs.get_finding_display()
    if theirs is not None and theirs.provider_status:
        said = f"{said} (“{theirs.provider_status}”)"
    differs = bool(dossier.contradiction) if theirs is not None else None
    return Row("Outcome", words.badge(dossier.state).text, said, differs)


def _amount(dossier: Dossier) -> Row:
    f, theirs = dossier.fulfilment, dossier.theirs
    ours = money(f.amount, f.currency)
    if theirs is None or theirs.amount is None:
        return Row("Amount", ours, NOT_SAID, None)
    differs = (theirs.amount, theirs.currency) != (f.amount, f.currency)
    return Row("Amount", ours, money(theirs.amount, theirs.currency), differs)


def _payee(dossier: Dossier) -> Row:
    ours, theirs = words.payee(dossier.fulfilment.instruction) or "none", dossier.theirs
    if theirs is None or not theirs.recipient:
        return Row("Payee", ours, NOT_SAID, None)
    said = words.hide(theirs.recipient, dossier.number)
    # Compared whole before it was masked; two numbers may end alike.
    ends_alike = not dossier.number or theirs.recipient.endswith(dossier.number[-4:])
    return Row("Payee", ours, said, theirs.other_recipient or not ends_alike)


def _name(dossier: Dossier) -> Row:
    theirs = dossier.theirs
    said = theirs.provider_id if theirs and theirs.provider_id else NOT_SAID
    return Row("Reference", dossier.fulfilment.reference, said, None)


def _time(dossier: Dossier) -> Row:
    sent = dossier.sent[-1].sent_at if dossier.sent else None
    ours = SafeString("sent ") + when(sent, now=dossier.now) if sent else "not sent"
    return Row("Time", ours, _their_time(dossier, dossier.theirs), None)


def _their_time(dossier: Dossier, theirs: Evidence | None) -> str | SafeString:
    if theirs is None:
        return NOT_SAID
    if theirs.said_at is not None:
        return SafeString("their clock ") + when(theirs.said_at, now=dossier.now)
    return SafeString("heard ") + when(theirs.recorded_at, now=dossier.now)


def _difference(dossier: Dossier, provider: str, differing: list[str]) -> str:
    theirs, f = dossier.theirs, dossier.fulfilment
    if theirs is None:
        return f"Unknown: {provider} has not said yet what became of it."
    if not differing:
        return "None in what both sides said."
    parts = [f"the {label} differs" for label in differing if label != "amount"]
    if "amount" in differing and theirs.amount is not None:
        parts.insert(0, _gap(theirs.amount, theirs.currency, f.amount, f.currency, provider))
    return "; ".join(parts).capitalize() if "amount" not in differing else "; ".join(parts)


def _gap(theirs: int, their_currency: str, ours: int, our_currency: str, provider: str) -> str:
    if their_currency != our_currency:
        return f"{provider} names another currency: {their_currency}, not {our_currency}"
    more = "more" if theirs > ours else "less"
    return f"{provider}'s amount is {money(abs(theirs - ours), our_currency)} {more} than ours"
