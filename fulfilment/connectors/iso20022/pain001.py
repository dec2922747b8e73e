"""Writes one credit transfer as pain.001.001.09. Pure: date and time are passed in.

Our reference is the message's id *and* the payment's end-to-end id: by the first the bank knows a
file that it had already, by the second everything that it says about the payment is found.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from xml.etree.ElementTree import TreeBuilder, tostring

from fulfilment.connectors.base import Instruction
from fulfilment.connectors.iso20022.amounts import decimal

NAMESPACE: Final = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"
_LONGEST_NAME: Final = 70  # of the guidelines for SEPA; the schema allows 140
_LONGEST_TEXT: Final = 140


@dataclass(frozen=True, slots=True, kw_only=True)
class Debtor:
    """Whose account pays."""

    name: str
    iban: str
    bic: str


def written(order: Instruction, *, debtor: Debtor, at: datetime) -> bytes:
    """The file of one payment. Raises KeyError where the instruction names no `account`."""
    amount = decimal(order.amount, order.currency)
    to = order.instruction
    build = _Builder()
    with build.inside("Document", xmlns=NAMESPACE), build.inside("CstmrCdtTrfInitn"):
        with build.inside("GrpHdr"):
            build.leaf("MsgId", order.reference)
            build.leaf("CreDtTm", at.isoformat(timespec="seconds"))
            build.leaf("NbOfTxs", "1")
            build.leaf("CtrlSum", amount)
            with build.inside("InitgPty"):
                build.leaf("Nm", debtor.name[:_LONGEST_NAME])
        with build.inside("PmtInf"):
            _from(build, order.reference, amount=amount, debtor=debtor, at=at)
            with build.inside("CdtTrfTxInf"):
                with build.inside("PmtId"):
                    build.leaf("EndToEndId", order.reference)
                with build.inside("Amt"):
                    build.leaf("InstdAmt", amount, Ccy=order.currency)
                _to(build, to)
    return build.document()


def account(instruction: Mapping[str, Any]) -> str:
    """The payee's IBAN as it is sent: without spaces, in capitals. KeyError where there is none."""
    return "".join(str(instruction["account"]).split()).upper()


def _from(build: "_Builder", reference: str, *, amount: str, debtor: Debtor, at: datetime) -> None:
    build.leaf("PmtInfId", reference)
    build.leaf("PmtMtd", "TRF")
    build.leaf("NbOfTxs", "1")
    build.leaf("CtrlSum", amount)
    with build.inside("ReqdExctnDt"):
        build.leaf("Dt", at.date().isoformat())
    with build.inside("Dbtr"):
        build.leaf("Nm", debtor.name[:_LONGEST_NAME])
    with build.inside("DbtrAcct"), build.inside("Id"):
        build.leaf("IBAN", debtor.iban)
    with build.inside("DbtrAgt"), build.inside("FinInstnId"):
        build.leaf("BICFI", debtor.bic)


def _to(build: "_Builder", to: Mapping[str, Any]) -> None:
    if bic := str(to.get("bic") or ""):
        with build.inside("CdtrAgt"), build.inside("FinInstnId"):
            build.leaf("BICFI", bic)
    with build.inside("Cdtr"):
        build.leaf("Nm", _line(to.get("name"), _LONGEST_NAME) or "NOTPROVIDED")
    with build.inside("CdtrAcct"), build.inside("Id"):
        build.leaf("IBAN", account(to))
    if narration := _line(to.get("narration"), _LONGEST_TEXT):
        with build.inside("RmtInf"):
            build.leaf("Ustrd", narration)


def _line(value: Any, longest: int) -> str:
    """A text as XML can hold it: no control characters, no half of a surrogate pair."""
    kept = "".join(c for c in str(value or "") if c.isprintable())
    return " ".join(kept.split())[:longest]


class _Builder:
    """Elements in the order of the calls; nothing is ever put together as text."""

    def __init__(self) -> None:
        self._tree = TreeBuilder()

    @contextmanager
    def inside(self, tag: str, **attributes: str) -> Iterator[None]:
        self._tree.start(tag, attributes)
        yield
        self._tree.end(tag)

    def leaf(self, tag: str, text: str, **attributes: str) -> None:
        self._tree.start(tag, attributes)
        self._tree.data(text)
        self._tree.end(tag)

    def document(self) -> bytes:
        made: bytes = tostring(self._tree.close(), encoding="utf-8", xml_declaration=True)
        return made
