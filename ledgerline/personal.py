"""Where something of a customer is kept, and what becomes of it when the customer is erased.

`templates/guides/samples/erase.sql` does it; a test holds both, and every table that names a
customer, to this list.
"""

from dataclasses import dataclass

_BOOKS = "stays: the books"
_GROUND = "stays: the ground of a verdict"
_TRAIL = "stays: who did what, and why"


@dataclass(frozen=True, slots=True)
class Kept:
    """One table: what of a customer is in it, and what erasing does to that."""

    table: str
    holds: str
    fate: str

    @property
    def stays(self) -> bool:
        """True if erasing leaves its rows as they are."""
        return self.fate.startswith("stays")


KEPT = (
    Kept("bank_user", "user name, names, e-mail address", "emptied; the id stays"),
    Kept("django_admin_log", "the user name, as staff saw it", "emptied"),
    Kept("idempotency_keys", "answers, as they were sent", "deleted"),
    Kept("fulfilment_payload", "what a provider answered, word for word", "deleted"),
    Kept("provider_event_payload", "what a provider reported, word for word", "deleted"),
    Kept("provider_event_conflict", "a second report under one name", "its body is emptied"),
    Kept("bank_account", "account number, owner, balance", _BOOKS),
    Kept("bank_transfer", "payee, narration, amount, the key", f"{_BOOKS}, and a late retry"),
    Kept("bank_payment", "phone number, narration, amount", f"{_BOOKS}, and a late retry"),
    Kept("bank_posting", "which transfer or payment moved money", _BOOKS),
    Kept("bank_entry", "amounts of an account", _BOOKS),
    Kept("bank_hold", "amounts of an account", _BOOKS),
    Kept("bank_usage_event", "what was used, and the customer's own notes on it", _BOOKS),
    Kept("idempotency_actions", "the same, by the customer's id", "stays: it is billed once"),
    Kept("fulfilment", "payee or phone number, narration", _GROUND),
    Kept("fulfilment_evidence", "what a provider said, in short; a masked recipient", _GROUND),
    Kept("fulfilment_case_action", "what staff wrote about a payment", _GROUND),
    Kept("bank_freeze_change", "who froze the customer or an account", _TRAIL),
    Kept("idempotency_audit", "what staff did to a key, by the customer's id", _TRAIL),
    Kept("consumed_token", "the customer's id and a digest", "stays: no token is spent twice"),
)
