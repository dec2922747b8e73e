"""What a status report (pain.002) and a return (pacs.004) say about one payment. Pure."""

from collections.abc import Mapping
from typing import Any, Final
from xml.etree.ElementTree import Element

from fulfilment.connectors.iso20022 import xml
from fulfilment.connectors.iso20022.amounts import minor
from fulfilment.connectors.iso20022.mapping import DUPLICATES
from fulfilment.reconcile.evidence import Finding

# ExternalPaymentTransactionStatus. None of the good ones says that money moved: a statement does.
_STATUS: Final[Mapping[str, Finding]] = {
    "RCVD": Finding.ACCEPTED,
    "PDNG": Finding.ACCEPTED,
    "PATC": Finding.ACCEPTED,  # waits for a second signature at the bank
    "ACTC": Finding.ACCEPTED,
    "ACCP": Finding.ACCEPTED,
    "ACSP": Finding.ACCEPTED,
    "ACWC": Finding.ACCEPTED,  # with a change; which one, the statement shows
    "ACSC": Finding.ACCEPTED,  # settled, without the amount
    "ACCC": Finding.ACCEPTED,
    "RJCT": Finding.NOT_DONE,
    "CANC": Finding.NOT_DONE,
}


def report_says(piece: Element) -> dict[str, Any]:
    """Of one payment, or of a file that was answered as a whole."""
    status = xml.text(piece, "TxSts") or xml.text(piece, "GrpSts")
    reasons = [xml.text(code) for rsn in xml.children(piece, "StsRsnInf", "Rsn") for code in rsn]
    finding = _STATUS.get(status, Finding.UNKNOWN)
    if DUPLICATES.intersection(reasons):
        finding = Finding.UNKNOWN  # about a second copy: the first one lives
    return {
        "reference": xml.text(piece, "OrgnlEndToEndId") or xml.text(piece, "OrgnlMsgId"),
        "finding": finding,
        "provider_status": " ".join([status, *reasons]).strip()[:64],
    }


def return_says(piece: Element) -> dict[str, Any]:
    """It came back; where only a part of it did, the amount is another one, and people decide."""
    amount, currency = minor(xml.child(piece, "RtrdIntrBkSttlmAmt"))
    return {
        "reference": xml.text(piece, "OrgnlEndToEndId"),
        "finding": Finding.REVERSED,
        "amount": amount,
        "currency": currency[:3],
        "recipient": xml.text(piece, "OrgnlTxRef", "CdtrAcct", "Id", "IBAN")[:64],
        "provider_status": f"returned {xml.text(piece, 'RtrRsnInf', 'Rsn', 'Cd')}".strip()[:64],
    }
