"""The bank's messages as events: one for every payment of ours that a message speaks about. Pure.

pain.002 tells what became of a file, camt.054 and camt.053 what was booked, pacs.004 what came back.
An event's body is a piece of the message, in an envelope that says where it was cut out.
"""

import json
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from xml.etree.ElementTree import Element

from fulfilment.connectors.iso20022 import xml
from fulfilment.connectors.iso20022.entries import entry_says
from fulfilment.connectors.iso20022.reports import report_says, return_says
from fulfilment.connectors.iso20022.xml import XmlRefused
from fulfilment.reconcile.evidence import Finding
from fulfilment.webhooks.errors import EventMalformed
from fulfilment.webhooks.event import Event

# What we write as a reference. Other systems pay from the account as well, and theirs are not ours.
_OURS: Final = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Letter:
    """A message as it was fetched; `name` is the bank's own for it, and never used again."""

    name: str
    kind: str  # such as pain.002.001.10
    body: bytes


def events_of(letter: Letter, *, iban: str) -> Sequence[bytes]:
    """The bodies of its events; one that says nothing where none of ours is spoken of.

    `iban` is our account: a message about another one is none of ours. What cannot be read becomes an
    event that nothing fits, so that somebody hears of it.
    """
    try:
        root = xml.parse(letter.body)
    except XmlRefused as error:
        return [_sealed(letter, 0, piece=None, at="", odd=str(error))]
    at = xml.text(next(iter(root), None), "GrpHdr", "CreDtTm")
    pieces = list(_pieces(root, iban=iban))
    if not pieces:
        return [_sealed(letter, 0, piece=None, at=at)]
    return [_sealed(letter, n, piece=piece, at=at) for n, piece in enumerate(pieces)]


def read(body: bytes) -> Event:
    """The event in such a body. Raises `EventMalformed` for what was not sealed here."""
    try:
        sealed = json.loads(body.decode())
        name, kind, piece = sealed["name"], sealed["kind"], sealed["xml"]
        said = _said(xml.parse(piece.encode())) if piece else {}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise EventMalformed("The body is no piece of a bank's message.") from error
    if sealed.get("odd"):
        said = {"finding": Finding.UNKNOWN}
    return Event(
        dedupe_key=name,
        type=kind,
        account="",
        livemode=None,
        content=body,
        said_at=_moment(sealed.get("at")),
        **said,
    )


def _pieces(root: Element, *, iban: str) -> Iterator[Element]:
    for message in root:
        match xml.name(message):
            case "CstmrPmtStsRpt":
                yield from _reports(message)
            case "PmtRtr":
                yield from _ours(xml.children(message, "TxInf"), "OrgnlEndToEndId")
            case "BkToCstmrDbtCdtNtfctn":
                yield from _entries(xml.children(message, "Ntfctn"), iban=iban)
            case "BkToCstmrStmt":
                yield from _entries(xml.children(message, "Stmt"), iban=iban)


def _reports(message: Element) -> Iterator[Element]:
    """Each payment of the report; of a file that was rejected as a whole only the file."""
    payments = list(xml.children(message, "OrgnlPmtInfAndSts", "TxInfAndSts"))
    if payments:
        yield from _ours(payments, "OrgnlEndToEndId")
    else:
        yield from _ours(xml.children(message, "OrgnlGrpInfAndSts"), "OrgnlMsgId")


def _entries(accounts: Iterator[Element], *, iban: str) -> Iterator[Element]:
    for account in accounts:
        if xml.text(account, "Acct", "Id", "IBAN") == iban:
            for entry in xml.children(account, "Ntry"):
                yield from _alone(entry)


def _alone(entry: Element) -> Iterator[Element]:
    """An entry may book many payments at once: each with what the entry says of all."""
    payments = list(xml.children(entry, "NtryDtls", "TxDtls"))
    for payment in payments:
        if _OURS.fullmatch(xml.text(payment, "Refs", "EndToEndId")):
            piece = Element("Ntry", {"payments": str(len(payments))})
            piece.extend(deepcopy(c) for c in entry if xml.name(c) != "NtryDtls")
            piece.append(deepcopy(payment))
            yield piece


def _ours(found: Any, name: str) -> Iterator[Element]:
    return (each for each in found if _OURS.fullmatch(xml.text(each, name)))


def _said(piece: Element) -> dict[str, Any]:
    match xml.name(piece):
        case "Ntry":
            return entry_says(piece)
        case "TxInf":
            return return_says(piece)
        case "TxInfAndSts" | "OrgnlGrpInfAndSts":
            return report_says(piece)
    raise EventMalformed("The piece is of no known kind.")


def _sealed(letter: Letter, number: int, *, piece: Element | None, at: str, odd: str = "") -> bytes:
    content = {
        "name": f"{letter.name}/{number}"[-200:],
        "kind": letter.kind[:64],
        "at": at,
        "odd": odd,
        "xml": "" if piece is None else xml.written(piece),
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _moment(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
