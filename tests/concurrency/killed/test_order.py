"""The order in which a payment is written down and sent, read from the wire: what every crash relies on."""

import pytest

from tests.concurrency.killed.plays import dispatching
from tests.concurrency.killed.stage import Stage
from tests.concurrency.killed.striking import recorded
from tests.concurrency.killed.wire import Said

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]


def test_each_step_of_a_payment_is_committed_before_the_next_can_be_seen(stage: Stage) -> None:
    said = recorded(stage, dispatching(stage))
    claimed = first(said, b'INTO "fulfilment_transition"')
    marked = first(said, b"SET sent_at")
    called = first(said, b"POST /v1/payments")
    heard = first(said, b'INTO "fulfilment_evidence"')
    moved = first(said, b"'fulfilled'", after=heard)
    assert claimed < commits(said, after=claimed) < marked, "the claim is not committed first"
    assert marked < called, "sent before it was marked: a crash in between sends it blindly again"
    assert not open_at(said, called), "the mark is not committed when the first byte leaves"
    assert called < heard < commits(said, after=heard) < moved, (
        "the answer and the verdict share a transaction: a handler that raises loses the answer"
    )


def test_verdict_postings_and_the_answer_of_the_key_are_one_transaction(stage: Stage) -> None:
    said = recorded(stage, dispatching(stage))
    moved = first(said, b"'fulfilled'", after=first(said, b'INTO "fulfilment_evidence"'))
    ended = commits(said, after=moved)
    for what in (b'INTO "bank_posting"', b'INTO "bank_entry"', b"UPDATE idempotency_keys"):
        assert moved < first(said, what, after=moved) < ended, (
            f"{what.decode()} is not in the transaction of the verdict"
        )


def first(said: list[Said], words: bytes, *, after: int = 0) -> int:
    """The number of the first thing with these words that the worker says."""
    found = (n for n, one in enumerate(said) if n > after and one.by_worker and words in one.words)
    number = next(found, None)
    assert number is not None, f"it never said {words.decode()}"
    return number


def commits(said: list[Said], *, after: int) -> int:
    """When the transaction that is open then is committed."""
    return first(said, b"COMMIT", after=after)


def open_at(said: list[Said], number: int) -> bool:
    """Is a transaction open? PostgreSQL says so at the end of each answer."""
    answers = [one for one in said[:number] if one.to == "database" and not one.by_worker]
    return not answers[-1].words.endswith(b"I")
