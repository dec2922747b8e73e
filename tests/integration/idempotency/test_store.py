"""What the table refuses, whoever writes to it, and what the store refuses."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from idempotency import store
from idempotency.contract import Answer
from idempotency.errors import ClaimLost
from idempotency.models import IdempotencyKey
from tests.integration.idempotency.conftest import ADA, COMMITTING

pytestmark = COMMITTING

NOW = "clock_timestamp()"
TOKEN = "gen_random_uuid()"
FINAL = {
    "status": "'completed'",
    "response_code": "201",
    "response_headers": "'[]'",
    "response_body": "''",
    "completed_at": NOW,
}
OPEN = {"status": "'in_progress'"}


def insert(**columns: str) -> None:
    row = {
        "user_id": f"'{ADA}'",
        "key": "'k'",
        "request_hash": "'f'",
        "hash_version": "1",
        "operation": "'pay'",
        "created_at": NOW,
    } | columns
    names, values = ", ".join(row), ", ".join(row.values())
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO idempotency_keys ({names}) VALUES ({values})")


@pytest.mark.parametrize(
    "columns",
    [
        FINAL,
        FINAL | {"status": "'failed'", "response_code": "400"},
        OPEN,
        OPEN | {"next_check_at": NOW},
        OPEN | {"locked_until": NOW, "claim_token": TOKEN},
        OPEN | {"held_at": NOW, "hold_reason": "'time-out'"},
        OPEN | {"held_at": NOW, "hold_reason": "'time-out'", "claim_token": TOKEN},
    ],
    ids=["completed", "failed", "deferred", "deferred, checked", "leased", "held", "held, token"],
)
def test_every_state_of_the_design_is_a_row(columns: dict[str, str]) -> None:
    insert(**columns)
    assert str(IdempotencyKey.objects.get(pk=(ADA, "k"))) == f"pay of {ADA}"


@pytest.mark.parametrize(
    ("rule", "columns"),
    [
        ("answer_when_final", OPEN | {"status": "'done'"}),
        ("answer_when_final", {"status": "'completed'", "response_code": "201"}),
        ("answer_when_final", FINAL | OPEN),
        ("answer_when_final", OPEN | {"response_body": "''"}),
        ("code_fits_status", FINAL | {"response_code": "400"}),
        ("code_fits_status", FINAL | {"response_code": "500", "status": "'failed'"}),
        ("code_fits_status", FINAL | {"status": "'failed'"}),
        ("final_is_free", FINAL | {"locked_until": NOW, "claim_token": TOKEN}),
        ("final_is_free", FINAL | {"held_at": NOW, "hold_reason": "'x'"}),
        ("final_is_free", FINAL | {"next_check_at": NOW}),
        ("lease_has_token", OPEN | {"locked_until": NOW}),
        ("deferred_has_no_token", OPEN | {"claim_token": TOKEN}),
        ("hold_has_reason", OPEN | {"held_at": NOW}),
        ("hold_has_reason", OPEN | {"hold_reason": "'x'"}),
        (
            "hold_has_reason",
            OPEN
            | {"held_at": NOW, "hold_reason": "'x'", "locked_until": NOW, "claim_token": TOKEN},
        ),
        ("operation_named", OPEN | {"operation": "''"}),
    ],
)
def test_every_other_row_is_refused_by_a_named_rule(rule: str, columns: dict[str, str]) -> None:
    with pytest.raises(IntegrityError) as refused:
        insert(**columns)
    cause: Any = refused.value.__cause__
    violated = cause.diag.constraint_name
    assert violated == f"idempotency_keys_{rule}"


def test_a_claim_bounds_every_wait_of_its_transaction_only() -> None:
    names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
    before = [_shown(name) for name in names]
    with transaction.atomic():
        assert store.claim(ADA, key="k", fingerprint="f" * 64, operation="pay")
        inside = [_shown(name) for name in names]
    assert inside == ["3s", "10s", "15s"]
    assert [_shown(name) for name in names] == before


def test_a_finished_claim_is_not_settled_again() -> None:
    insert(**FINAL)
    with pytest.raises(ClaimLost):
        store.settle(ADA, "k", Answer(200, (), b""))


def _shown(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW {name}")
        return str(cursor.fetchone()[0])
