"""What does a request get, and what is stored of a handler's end?"""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idempotency.contract import (
    Answer,
    Deferred,
    Exit,
    Expired,
    Held,
    InProgress,
    Record,
    Replay,
    Reused,
    Status,
    decide,
    exit_of,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ANSWER = Answer(201, (), b"x")
MINUTE = timedelta(minutes=1)


def record(**said: object) -> Record:
    known = {"scope": UUID(int=1), "key": "k", "fingerprint": "f", "operation": "pay"}
    return Record(**(known | {"status": Status.IN_PROGRESS, "created_at": NOW} | said))  # type: ignore[arg-type]


FINISHED = record(status=Status.COMPLETED, answer=ANSWER, created_at=NOW - MINUTE)
LEASED = record(locked_until=NOW + timedelta(seconds=2.1))
EXPIRED = record(locked_until=NOW)
HELD = record(held_at=NOW - MINUTE, hold_reason="time-out")
DEFERRED = record()


@pytest.mark.parametrize(
    ("row", "decision"),
    [
        (None, InProgress(1)),
        (FINISHED, Replay(ANSWER, age=MINUTE)),
        (LEASED, InProgress(3)),
        (record(locked_until=NOW + 60 * MINUTE), InProgress(60)),
        (EXPIRED, Expired(EXPIRED)),
        (HELD, Held(HELD)),
        (DEFERRED, Deferred(DEFERRED)),
    ],
)
def test_the_same_request_gets_what_the_record_says(row: Record | None, decision: object) -> None:
    assert decide(row, fingerprint="f", now=NOW) == decision


@pytest.mark.parametrize("row", [FINISHED, LEASED, EXPIRED, HELD, DEFERRED])
def test_another_request_never_gets_anything_of_a_key(row: Record) -> None:
    assert decide(row, fingerprint="g", now=NOW) == Reused(), "it could take over or replay the key"


@pytest.mark.parametrize("status", [200, 201, 204, 303, 400, 402, 404, 405, 412, 422])
def test_a_returned_decision_is_settled(status: int) -> None:
    assert exit_of(status, raised=False) is Exit.SETTLE


@pytest.mark.parametrize("status", [400, 402, 403, 404, 422])
def test_a_raised_refusal_is_stored_without_its_writes(status: int) -> None:
    assert exit_of(status, raised=True) is Exit.REFUSE


@given(st.sampled_from([409, 425, 429]) | st.integers(500, 599), st.booleans())
def test_not_now_is_never_stored(status: int, raised: bool) -> None:
    assert exit_of(status, raised=raised) is Exit.ROLL_BACK


@given(st.integers(200, 599))
def test_input_that_could_not_be_read_is_never_stored(status: int) -> None:
    assert exit_of(status, raised=True, input_refused=True) is Exit.ROLL_BACK


@given(st.integers(200, 399))
def test_a_success_made_from_an_exception_is_never_stored(status: int) -> None:
    assert exit_of(status, raised=True) is Exit.ROLL_BACK, "its writes are gone: N would be 0"


@pytest.mark.parametrize(
    ("status", "kind", "body", "invites"),
    [
        (400, "application/problem+json", b'{"safe_new_key": true}', True),
        (400, "application/problem+json", b'{"safe_new_key": false}', False),
        (400, "application/problem+json", b"[]", False),
        (400, "application/problem+json", b"\xff", False),
        (400, "application/json", b'{"safe_new_key": true}', False),
        (201, "application/problem+json", b'{"safe_new_key": true}', False),
    ],
)
def test_an_answer_says_whether_a_new_key_is_safe(
    status: int, kind: str, body: bytes, invites: bool
) -> None:
    assert Answer(status, (("content-type", kind),), body).invites_new_key is invites


def test_a_records_reference_is_the_published_one() -> None:
    from idempotency import reference_of

    assert record().reference == reference_of(UUID(int=1), "k")
