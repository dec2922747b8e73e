"""Questions to both sides' books: Ledgerline's rows and the provider's own list."""

import time
from typing import Any

from ledgerline.demo.check.system import System

_TRANSFER = "SELECT count(*) AS n FROM bank_transfer WHERE reference = %(reference)s"
_POSTINGS = """
SELECT count(*) AS n FROM bank_posting p JOIN bank_transfer t ON t.id = p.transfer_id WHERE t.reference = %(reference)s
"""
# External transfers among these, with the reference the provider knows them by; NULL: not fulfilled.
_EXTERNAL = """
SELECT t.reference, f.reference AS sent_as, t.amount, t.currency
  FROM bank_transfer t LEFT JOIN fulfilment f
    ON f.payment_id = 'transfer:' || t.reference AND f.state = 'fulfilled'
 WHERE t.reference = ANY(%(references)s) AND t.to_bank <> ''
"""
# What our books say went out to other banks for these transfers.
_SETTLED = """
SELECT coalesce(sum(e.amount), 0)::bigint AS total
  FROM bank_entry e JOIN bank_account a ON a.id = e.account_id AND a.kind = 'internal' AND a.name = 'settlement'
  JOIN bank_posting p ON p.id = e.posting_id JOIN bank_transfer t ON t.id = p.transfer_id
 WHERE t.reference = ANY(%(references)s)
"""
_UNBALANCED = (
    "SELECT posting_id FROM bank_entry GROUP BY posting_id, currency HAVING sum(amount) <> 0"
)
_WRONG_BALANCE = """
SELECT a.number FROM bank_account a
  LEFT JOIN (SELECT account_id, sum(amount) AS total FROM bank_entry GROUP BY account_id) e ON e.account_id = a.id
 WHERE a.kind = 'customer' AND a.balance <> coalesce(e.total, 0)
"""
_WRONG_HELD = """
SELECT a.number FROM bank_account a
  LEFT JOIN (SELECT account_id, sum(amount) AS total FROM bank_hold WHERE state = 'open' GROUP BY account_id) h
    ON h.account_id = a.id
 WHERE a.kind = 'customer' AND a.held <> coalesce(h.total, 0)
"""
_SENT_AS = """
SELECT f.reference, t.amount, t.currency FROM fulfilment f
  JOIN bank_transfer t ON f.payment_id = 'transfer:' || t.reference WHERE t.reference = %(reference)s
"""
_SAID = """
SELECT e.source, e.finding FROM fulfilment_evidence e JOIN fulfilment f ON f.id = e.fulfilment_id
 WHERE f.payment_id = 'transfer:' || %(reference)s ORDER BY e.id
"""
_CASE = """
SELECT c.id, c.reason, c.fulfilment_id FROM fulfilment_case c JOIN fulfilment f ON f.id = c.fulfilment_id
 WHERE f.payment_id = 'transfer:' || %(reference)s AND c.closed_at IS NULL
"""
_LAST_ACTOR = """
SELECT t.actor FROM fulfilment_transition t JOIN fulfilment f ON f.id = t.fulfilment_id
 WHERE f.payment_id = 'transfer:' || %(reference)s ORDER BY t.version DESC LIMIT 1
"""


def one_transfer_one_posting(system: System, reference: str) -> None:
    """Our rows hold exactly one transfer and one posting under this reference."""
    transfers = system.rows(_TRANSFER, reference=reference)[0]["n"]
    assert transfers == 1, f"{transfers} transfers for one key"
    postings = system.rows(_POSTINGS, reference=reference)[0]["n"]
    assert postings == 1, f"{postings} postings for one transfer"


def balanced(system: System) -> None:
    """Every posting sums to zero; every balance is the sum of entries, every held of open holds."""
    assert not system.rows(_UNBALANCED), "a posting does not sum to zero"
    wrong = [row["number"][-4:] for row in system.rows(_WRONG_BALANCE)]
    assert not wrong, f"balances that are not the sum of their entries: accounts ending {wrong}"
    wrong = [row["number"][-4:] for row in system.rows(_WRONG_HELD)]
    assert not wrong, f"held money that is not the sum of the open holds: accounts ending {wrong}"


def match_provider(system: System, references: set[str]) -> int:
    """Each external transfer is fulfilled and stands once in the provider's books with its amount.

    What our settlement account gave is what the provider paid, and the provider holds nothing that
    we never ordered. Returns how many there are.
    """
    theirs = system.books()
    ours = system.rows(_EXTERNAL, references=list(references))
    for row in ours:
        assert row["sent_as"], f"external transfer {row['reference']} is not fulfilled"
        _same(theirs.get(row["sent_as"]), row)
    paid = sum(theirs[row["sent_as"]]["amount"] for row in ours)
    settled = system.rows(_SETTLED, references=list(references))[0]["total"]
    assert settled == paid, f"our books settled {settled}, the provider paid {paid} minor units"
    _nothing_extra(system, theirs)
    return len(ours)


def paid_once(system: System, reference: str, *, calls: int | None = None) -> None:
    """The provider's books hold exactly this payment, succeeded, with our amount.

    With `calls`: and it was ordered so many times, for a second order that the provider swallowed
    is no proof of our care.
    """
    sent_as = system.rows(_SENT_AS, reference=reference)
    assert len(sent_as) == 1, f"{len(sent_as)} fulfilments for one transfer"
    payment = system.books().get(sent_as[0]["reference"])
    _same(payment, sent_as[0] | {"reference": reference})
    made = payment["calls"] if payment else 0
    assert calls in (None, made), f"the provider was called {made} times, not {calls}"


def said(system: System, reference: str) -> list[tuple[str, str]]:
    """Who said what, in order."""
    return [(row["source"], row["finding"]) for row in system.rows(_SAID, reference=reference)]


def wait_for_case(system: System, reference: str, *, patience: float = 40.0) -> dict[str, Any]:
    """The open case of this transfer, once there is one."""
    deadline = time.monotonic() + patience
    while not (cases := system.rows(_CASE, reference=reference)):
        assert time.monotonic() < deadline, (
            f"no case after {patience:g} s; what was said: {said(system, reference)}"
        )
        time.sleep(0.3)
    return cases[0]


def last_actor(system: System, reference: str) -> str:
    """Who made the last move."""
    return str(system.rows(_LAST_ACTOR, reference=reference)[0]["actor"])


def _same(payment: dict[str, Any] | None, row: dict[str, Any]) -> None:
    """The provider's payment is the transfer in `row`."""
    assert payment, f"the provider has no such payment: transfer {row['reference']}"
    seen = (payment["amount"], payment["currency"], payment["status"])
    wanted = (row["amount"], row["currency"], "succeeded")
    assert seen == wanted, f"the provider has {seen} for {row}"


def _nothing_extra(system: System, theirs: dict[str, Any]) -> None:
    known = {row["reference"] for row in system.rows("SELECT reference FROM fulfilment")}
    extra = set(theirs) - known
    assert not extra, f"the provider holds payments that we never ordered: {sorted(extra)}"
