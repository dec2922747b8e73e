"""One noun for one thing: how states, people and payees are named on every screen. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fulfilment.reconcile.evidence import Finding
from fulfilment.reconcile.verdicts import AGAIN
from fulfilment.states import State


@dataclass(frozen=True, slots=True)
class Badge:
    """A word and its tone. The word says it all; the tone only repeats it in colour."""

    text: str
    tone: str  # unknown (amber) | done (green) | not-done | waiting


BADGES = {
    State.PENDING: Badge("Waiting to be sent", "waiting"),
    State.DISPATCHING: Badge("Being sent", "waiting"),
    State.NEEDS_RECONCILIATION: Badge("Unknown", "unknown"),
    State.FULFILLED: Badge("Paid out", "done"),
    State.FAILED: Badge("Not paid out", "not-done"),
    State.CANCELLED: Badge("Cancelled, never sent", "not-done"),
    State.REVERSED: Badge("Paid out, then given back", "not-done"),
}

# The provider's answers in its own name: "Sandbox said done".
_SAYS = {
    Finding.DONE: "said done",
    Finding.NOT_DONE: "said not done",
    Finding.REVERSED: "said that it gave the money back",
    Finding.ACCEPTED: "accepted it, without saying yet whether it is done",
    Finding.NOT_SENT: "was never reached",
    Finding.REFUSED: "refused it for a reason of ours; nothing was begun",
    Finding.UNKNOWN: "gave no answer that says what happened",
    Finding.NOT_FOUND: "did not find it",
    Finding.NO_INFORMATION: "could not be asked",
}

_ROLES = {
    "worker": "our worker",
    "dispatcher": "our worker",
    "sweeper": "our sweeper",
    "poller": "our poller",
    "resolver": "our rules",
    "system": "Ledgerline",
    "command": "an operator, by a command",
    "restore": "an operator, by the restore command",
    "user": "the customer",
    "customer": "the customer",
    "api": "the customer, through the app",
}

_ACTIONS = {
    "opened": "opened a case",
    "taken": "took the case",
    "released": "gave the case back",
    "asked": "asked the provider",
    "proposed": "proposed a verdict",
    "approved": "approved the verdict",
    "withdrawn": "withdrew the proposal",
    "confirmed": "gave the verdict that the provider gave too",
    "corrected": "corrected the verdict",
    "paid_twice": "recorded it as paid twice",
    "upheld": "left the verdict as it is",
    "resolved": "gave the verdict",
    "noted": "noted",
    "voided": "voided the proposal",
    "closed": "closed the case",
}

_REASONS = {"handler_failed": "our books could not take the outcome"}

# What an instruction may call the payee's number; the first that is there names the payee.
_NUMBERS = ("account", "to_account", "toAccount", "iban", "phone", "msisdn")
_BANKS = ("bank", "to_bank", "toBank")


def badge(state: str) -> Badge:
    """The state in a word."""
    return BADGES[State(state)]


def verdict(word: str) -> str:
    """A person's verdict in a word: most are the state that they lead to."""
    return "not paid out, send it again" if word == AGAIN else badge(word).text.lower()


def done(action: str) -> str:
    """What was done on a case, as a verb after whoever did it."""
    return _ACTIONS.get(action, action)


def says(finding: str) -> str:
    """`said done`, `did not find it`, …: the finding as a verb of whoever said it."""
    return _SAYS[Finding(finding)]


def tone(finding: str) -> str:
    """The tone of what was said: done, or money that did not leave or came back."""
    return "done" if finding == Finding.DONE else "not-done"


def who(actor: str) -> str:
    """`staff:amy` → `amy (staff)`, `sweeper` → `our sweeper`; unknown forms stay as they are."""
    role, _, name = actor.partition(":")
    if role == "staff" and name:
        return f"{name} (staff)"
    if role == "provider" and name:
        return provider(name)
    if role == "worker" and name:
        return f"our worker {name}"
    return _ROLES.get(role, actor) or "somebody unrecorded"


def reason(code: str) -> str:
    """Why it is in its state, as a sentence begins."""
    text = _REASONS.get(code, code)
    return text[:1].upper() + text[1:] or "No reason on record"


def provider(connector: str) -> str:
    """The connector's name as people say it."""
    return connector.replace("_", " ").capitalize()


def masked(number: str) -> str:
    """The last four characters only: `•••• 6789`."""
    shown = min(4, len(number) // 2)
    return f"••••\u00a0{number[len(number) - shown :]}"


def payee(instruction: Mapping[str, Any]) -> str:
    """`•••• 6789 at bank 058`, or empty when the instruction names no account or phone."""
    number = number_of(instruction)
    bank = next((v for k, v in _flat(instruction) if k in _BANKS), "")
    if not number:
        return ""
    return masked(number) + (f" at bank {bank}" if bank else "")


def number_of(instruction: Mapping[str, Any]) -> str:
    """The payee's full number. For comparing and hiding, never for showing."""
    found = dict(_flat(instruction))
    return next((found[name] for name in _NUMBERS if found.get(name)), "")


def hide(text: str, number: str) -> str:
    """`text` without the payee's full number, whoever wrote it in there."""
    return text.replace(number, masked(number)) if len(number) > 4 else text


def _flat(instruction: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in instruction.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        elif isinstance(value, str):
            yield key, value
