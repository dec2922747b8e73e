"""Whatever a bank sends: it is read or put aside, and proves nothing that it does not say."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fulfilment.connectors.base import (
    Accepted,
    Declined,
    Done,
    NotFound,
    Refused,
    Reversed,
    Unknown,
)
from fulfilment.connectors.http import Reply
from fulfilment.connectors.iso20022 import letters, mapping
from fulfilment.connectors.iso20022.letters import Letter
from fulfilment.reconcile.evidence import CONCLUSIVE, Finding
from fulfilment.webhooks.errors import EventMalformed
from fulfilment.webhooks.event import Event

OURS = "0123456789abcdef0123456789abcdef"
IBAN = "NL41MOCK0000000001"
_REPORT = "<D><CstmrPmtStsRpt><OrgnlPmtInfAndSts>{}</OrgnlPmtInfAndSts></CstmrPmtStsRpt></D>"
_PAYMENT = (
    f"<TxInfAndSts><OrgnlEndToEndId>{OURS}</OrgnlEndToEndId><TxSts>RJCT</TxSts>{{}}</TxInfAndSts>"
)
_WORDS = (
    *("Document", "CstmrPmtStsRpt", "OrgnlPmtInfAndSts", "TxInfAndSts", "OrgnlEndToEndId", "TxSts"),
    *("PmtRtr", "TxInf", "RtrdIntrBkSttlmAmt", "BkToCstmrStmt", "Stmt", "Ntry", "NtryDtls"),
    *("TxDtls", "Refs", "EndToEndId", "Amt", "CdtDbtInd", "Sts", "Cd", "RvslInd", "Acct", "Id"),
)
_TEXTS = st.sampled_from(["", "RJCT", "DBIT", "CRDT", "BOOK", "true", "10.50", "ACSC", IBAN])


def _xml(parts: Any) -> str:
    tag, inside = parts
    content = inside if isinstance(inside, str) else "".join(map(_xml, inside))
    return f"<{tag}>{content}</{tag}>"


_ELEMENTS = st.recursive(
    st.tuples(st.sampled_from(_WORDS), _TEXTS),
    lambda inner: st.tuples(st.sampled_from(_WORDS), st.lists(inner, max_size=4)),
    max_leaves=25,
).map(_xml)


def _events(body: bytes) -> list[Event]:
    """The events of a message; what is put aside as malformed is none."""
    read = []
    for sealed in letters.events_of(Letter(name="m/1", kind="pain.002", body=body), iban=IBAN):
        try:
            read.append(letters.read(sealed))
        except EventMalformed:
            continue
    return read


@given(st.one_of(st.binary(max_size=400), _ELEMENTS.map(str.encode)))
def test_no_message_without_our_reference_settles_anything(body: bytes) -> None:
    settled = [e for e in _events(body) if e.finding in CONCLUSIVE]
    assert not settled, f"a message that never names a payment of ours settled one: {body!r}"


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_no_body_stops_the_reader(body: bytes) -> None:
    try:
        event = letters.read(body)
    except EventMalformed:
        return
    assert event.finding not in CONCLUSIVE


def test_a_body_that_nests_without_end_is_malformed_and_stops_nobody() -> None:
    with pytest.raises(EventMalformed):
        letters.read(b"[" * 100_000)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'<!DOCTYPE D [<!ENTITY a "b">]><D>&a;</D>', id="an entity"),
        pytest.param(b'<!DOCTYPE D SYSTEM "http://127.0.0.1:1/x"><D/>', id="an external type"),
        pytest.param(
            b'<!DOCTYPE D [<!ENTITY x SYSTEM "file:///etc/passwd">]><D>&x;</D>', id="a file"
        ),
        pytest.param(b"<a>" * 100_000 + b"</a>" * 100_000, id="nested 100,000 deep"),
        pytest.param(b"<D>" + b"x" * (9 << 20) + b"</D>", id="9 MB"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_xml_that_may_not_be_read_is_put_aside_for_a_person(body: bytes) -> None:
    [event] = _events(body)
    assert (event.reference, event.finding) == (None, Finding.UNKNOWN)


@pytest.mark.parametrize("code", ["DUPL", "AM05", "DU01", "DU02", "DU03", "DU04", "DU05"])
@pytest.mark.parametrize("kind", ["Cd", "Prtry"])
def test_a_report_about_a_second_copy_never_says_that_the_first_was_not_paid(
    code: str, kind: str
) -> None:
    first = "<StsRsnInf><Rsn><Cd>NARR</Cd></Rsn></StsRsnInf>"
    reason = f"<StsRsnInf><Rsn><{kind}>{code}</{kind}></Rsn></StsRsnInf>"
    [event] = _events(_REPORT.format(_PAYMENT.format(first + reason)).encode())
    assert event.reference == OURS
    assert event.finding is Finding.UNKNOWN, (
        f"{code} means that the bank had it already: a payment that was made is reported as failed"
    )


@pytest.mark.parametrize("code", ["DUPL", "AM05", "DU01", "DU03", "DU04"])
@pytest.mark.parametrize("status", [202, 422])
def test_an_answer_about_a_second_copy_never_says_that_the_first_was_not_paid(
    code: str, status: int
) -> None:
    payment = {"end_to_end_id": OURS, "outcome": "rejected", "reason": code}
    said = {"msg_id": OURS, "status": "RJCT", "reason": code, "payments": [payment]}
    outcome = mapping.sent(Reply(status, {}, json.dumps(said).encode()), reference=OURS)
    assert isinstance(outcome, Unknown), f"{code} was taken for the payment's own refusal"


@given(
    st.sampled_from([200, 202, 204, 301, 400, 404, 409, 422, 500, 503]),
    st.one_of(
        st.binary(max_size=60),
        st.dictionaries(
            st.sampled_from(["end_to_end_id", "msg_id", "status", "booked_at", "error", "amount"]),
            st.sampled_from([None, "accepted", "rejected", "returned", "RJCT", "x", 5, True, []]),
        ).map(lambda said: json.dumps(said).encode()),
    ),
)
def test_no_answer_without_our_reference_settles_anything(status: int, body: bytes) -> None:
    reply = Reply(status, {}, body)
    looked = mapping.looked_up(reply, reference=OURS)
    sent = mapping.sent(reply, reference=OURS)
    facts = (Done, Reversed, Declined, NotFound, Accepted, Refused)
    assert not isinstance(looked, facts), f"{body!r} names no payment and was taken for {looked}"
    assert not isinstance(sent, facts), f"{body!r} names no payment and was taken for {sent}"
