"""What a booked entry (camt.053, camt.054) says about one payment. Pure."""

from typing import Any
from xml.etree.ElementTree import Element

from fulfilment.connectors.iso20022 import xml
from fulfilment.connectors.iso20022.amounts import minor
from fulfilment.reconcile.evidence import Finding


def entry_says(piece: Element) -> dict[str, Any]:
    """A debit that is booked was paid; a credit that returns one was given back; else nothing."""
    payment = xml.child(piece, "TxDtls")
    amount, currency = minor(_amount(piece, payment))
    return {
        "reference": xml.text(payment, "Refs", "EndToEndId"),
        "finding": _finding(piece, payment),
        "amount": amount,
        "currency": currency[:3],
        "recipient": _recipient(payment) if _side(piece, payment) == "DBIT" else "",
        "provider_status": f"{_side(piece, payment)} {_status(piece)}".strip()[:64],
    }


def _finding(piece: Element, payment: Element | None) -> Finding | None:
    undone = xml.text(piece, "RvslInd") == "true" or xml.child(payment, "RtrInf") is not None
    match _side(piece, payment), _status(piece), undone:
        case "DBIT", "BOOK", False:
            return Finding.DONE
        case "DBIT", "PDNG", False:
            return Finding.ACCEPTED
        case "CRDT", "BOOK", True:
            return Finding.REVERSED
        case _:
            return None


def _side(piece: Element, payment: Element | None) -> str:
    return xml.text(payment, "CdtDbtInd") or xml.text(piece, "CdtDbtInd")


def _status(piece: Element) -> str:
    """A code since version 08, the word itself before."""
    return xml.text(piece, "Sts", "Cd") or xml.text(piece, "Sts")


def _amount(piece: Element, payment: Element | None) -> Element | None:
    """The payment's own; the entry's only where it books this payment alone."""
    own = xml.child(payment, "Amt")
    if own is None:
        own = xml.child(payment, "AmtDtls", "TxAmt", "Amt")
    if own is None and piece.get("payments") == "1":
        return xml.child(piece, "Amt")
    return own


def _recipient(payment: Element | None) -> str:
    iban = xml.text(payment, "RltdPties", "CdtrAcct", "Id", "IBAN")
    return iban[:64]
