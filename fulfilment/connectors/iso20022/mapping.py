"""What each answer of the bank's door for files and of its status query means. Pure.

Both answer in JSON. Whatever is not written here is `Unknown`, or `NoInformation` when asked.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fulfilment.connectors.base import (
    Accepted,
    Declined,
    Done,
    LookUp,
    NoInformation,
    NotFound,
    Outcome,
    Refused,
    Reversed,
    Unknown,
)
from fulfilment.connectors.http import Reply

# The bank has had it, so the payment exists, or something else under its name: ISO 20022's external
# code set has a code for each id that was seen before, DUPL is mock-bank's, and many banks say AM05.
DUPLICATES: Final = frozenset({"DUPL", "AM05", "DU01", "DU02", "DU03", "DU04", "DU05"})
_MAX: Final = 2**63 - 1


def sent(reply: Reply, *, reference: str) -> Outcome:
    """The outcome of posting a file with one payment."""
    said = reply.json()
    if reply.status in {401, 403}:
        # Refused at the door, before the file was read.
        return Refused(
            reason=f"HTTP {reply.status}: our credentials are not taken", body=reply.body
        )
    if not isinstance(said, dict) or said.get("msg_id") != reference:
        return Unknown(reason=f"HTTP {reply.status} without our message id", body=reply.body)
    if reply.status == 422 and said.get("status") == "RJCT":
        return _file_rejected(reply, said)
    if reply.status == 202:
        return _file_taken(reply, said, reference=reference)
    return Unknown(reason=f"HTTP {reply.status}", body=reply.body)


def looked_up(reply: Reply, *, reference: str) -> LookUp:
    """What the status query says about one end-to-end id."""
    said = reply.json()
    if reply.status == 404:
        # With the bank's own word only: a wrong address answers 404 as well.
        named = isinstance(said, dict) and reference in str(said.get("error", ""))
        return NotFound(body=reply.body) if named else _odd(reply)
    listed = [said] if isinstance(said, dict) else said
    if reply.status != 200 or not _is_about(listed, reference):
        return _odd(reply)
    # A payment that was rejected, and the same one again later: the one that lives is meant.
    alive = [each for each in listed if each.get("status") != "rejected"] or listed[:1]
    return _one(reply, alive[0]) if len(alive) == 1 else _several(reply, alive)


def _is_about(listed: Any, reference: str) -> bool:
    named = isinstance(listed, list) and listed and all(isinstance(each, dict) for each in listed)
    return bool(named) and all(each.get("end_to_end_id") == reference for each in listed)


def _several(reply: Reply, alive: Sequence[Mapping[str, Any]]) -> LookUp:
    """The bank has more than one payment under our reference. Together they are not our amount, and
    that goes to a person.
    """
    amounts = [each.get("amount") for each in alive]
    total = sum(a for a in amounts if type(a) is int)
    told = _booked(alive[0], reply) | {"provider_id": "", "status": f"{len(alive)} payments"}
    return Done(**(told | {"amount": total if 0 < total <= _MAX else None}))


def _one(reply: Reply, said: Mapping[str, Any]) -> LookUp:
    match said.get("status"), said.get("booked_at"):
        case "accepted", None:
            return Accepted(status="accepted", body=reply.body)  # taken, and no money moved yet
        case "accepted", str():
            return Done(**_booked(said, reply))  # the debit is booked
        case "returned", _:
            return Reversed(**_booked(said, reply))
        case "rejected", _:
            return Declined(reason=_reason(said), status="rejected", body=reply.body)
        case _:
            return _odd(reply)


def _file_rejected(reply: Reply, said: Mapping[str, Any]) -> Outcome:
    if _seen_before(said):
        return _second_copy(reply)
    # Nothing of a rejected file is carried out, whatever is wrong with it.
    return Declined(reason=_reason(said), status="RJCT", body=reply.body)


def _file_taken(reply: Reply, said: Mapping[str, Any], *, reference: str) -> Outcome:
    match said.get("payments"):
        case [{"end_to_end_id": str(named), "outcome": str(outcome)} as payment]:
            pass
        case _:
            return Unknown(reason="the answer does not name our payment alone", body=reply.body)
    if named != reference:
        return Unknown(reason="the answer names another payment", body=reply.body)
    if outcome == "accepted":
        return Accepted(status=_word(said.get("status")), body=reply.body)
    if outcome == "rejected":
        if _seen_before(payment):
            return _second_copy(reply)
        return Declined(reason=_reason(payment), status="rejected", body=reply.body)
    return Unknown(reason="the payment's outcome has no documented meaning", body=reply.body)


def _seen_before(said: Mapping[str, Any]) -> bool:
    return _word(said.get("reason")) in DUPLICATES


def _second_copy(reply: Reply) -> Unknown:
    return Unknown(reason="the bank has had this message: it is looked up", body=reply.body)


def _booked(said: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    amount = said.get("amount")
    return {
        "amount": amount if type(amount) is int and 0 < amount <= _MAX else None,
        "currency": _word(said.get("currency"))[:3],
        "provider_id": _word(said.get("id"))[:128],
        "status": _word(said.get("status"))[:64],
        "recipient": _word(said.get("creditor_iban"))[:64],
        "body": reply.body,
    }


def _reason(said: Mapping[str, Any]) -> str:
    """The bank's code (ISO 20022 external code set), and nothing of its sentence: it quotes names."""
    return f"the bank rejected it: {_word(said.get('reason'))[:16] or 'no code'}"


def _odd(reply: Reply) -> NoInformation:
    return NoInformation(reason=f"HTTP {reply.status} with an unexpected body", body=reply.body)


def _word(value: Any) -> str:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text if text.isprintable() else ""
