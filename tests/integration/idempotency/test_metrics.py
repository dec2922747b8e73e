"""What an operator sees: each request counted once, and what is open, asked of the database."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

from idempotency import OutcomeUnknown, gate, standing, sweeps
from idempotency.metrics import Bounded, StandingCollector, counters
from idempotency.testing import expire_lease, killed_at
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.desk import run_out
from tests.integration.idempotency.stage import Stage, succeeds

pytestmark = COMMITTING


def counted() -> dict[str, float]:
    """Every counter of ours with its labels, as the scrape says it."""
    lines = generate_latest(REGISTRY).decode().splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if line.startswith("idempotency_")]
    return {name: float(value) for name, value in pairs if "_created" not in name}


def since(before: dict[str, float]) -> dict[str, float]:
    """What has been added, without the histogram's parts but its count."""
    now = counted()
    more = {name: value - before.get(name, 0) for name, value in now.items()}
    return {n: v for n, v in more.items() if v and not n.startswith(_PARTS)}


_PARTS = ("idempotency_request_seconds_bucket", "idempotency_request_seconds_sum")


def requests(outcome: str, status: int, *, keyed: str = "true", operation: str = "required") -> str:
    return (
        f'idempotency_requests_total{{keyed="{keyed}",operation="stage.{operation}",'
        f'outcome="{outcome}",status="{status}"}}'
    )


def test_each_request_is_counted_once_by_how_it_ended(
    ada: Phone, stage_: Stage, key: str, settings: Any
) -> None:
    settings.IDEMPOTENCY = {"CACHE": None}
    stage_.act = succeeds
    before = counted()
    ada.send(key), ada.send(key), ada.send(key), ada.send(key, {"amount": 2}), ada.send("a,b")
    assert since(before) == {
        requests("settled", 201): 1,
        requests("replayed", 201): 2,
        requests("key_reused", 422): 1,
        requests("key_invalid", 400): 1,
        'idempotency_request_seconds_count{operation="stage.required"}': 5,
    }


def test_whoever_sends_no_key_is_counted_by_client(ada: Phone, stage_: Stage) -> None:
    before = counted()
    ada.send(None, **{"User-Agent": "BankApp/4.17"})
    name = (
        'idempotency_key_absent_total{client="BankApp/4",operation="stage.required",refused="true"}'
    )
    assert since(before)[name] == 1


def test_a_client_that_changes_its_name_adds_no_labels_for_ever(
    ada: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counters, "_clients", Bounded(3))
    before = counted()
    for number in range(20):
        ada.send(None, **{"User-Agent": f"made-up-{number}/1"})
    added = [n for n in since(before) if n.startswith("idempotency_key_absent") and "made-up" in n]
    assert len(added) == 3, f"20 names made {len(added)} labels"


def test_the_cache_tells_what_it_knew(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = succeeds
    ada.send("first")  # from here on the timeline is known, without which nothing is cached
    before = counted()
    ada.send(key), ada.send(key)
    asked = {n: v for n, v in since(before).items() if n.startswith("idempotency_cache")}
    name = 'idempotency_cache_total{{cache="default",outcome="{}"}}'.format
    assert asked == {name("miss"): 1, name("hit"): 1}


def test_a_cache_that_is_gone_is_counted_as_an_error_and_then_as_skipped(
    ada: Phone, stage_: Stage, key: str, settings: Any
) -> None:
    dead = settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = {"default": dead}
    stage_.act = succeeds
    before = counted()
    ada.send(key), ada.send(key)
    asked = {n: v for n, v in since(before).items() if n.startswith("idempotency_cache")}
    name = 'idempotency_cache_total{{cache="default",outcome="{}"}}'.format
    assert asked[name("error")] == 1
    assert asked[name("skipped")] >= 1


def test_no_label_holds_a_key_a_user_or_an_account(ada: Phone, stage_: Stage) -> None:
    stage_.act = succeeds
    ada.send("recognisable-key"), ada.send("recognisable-key"), ada.send(None)
    said = generate_latest(REGISTRY).decode()
    for secret in ("recognisable", str(ADA), "0123456789", "/required/"):
        assert secret not in said, f"{secret} stands in a label"


def scraped() -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(StandingCollector())
    lines = generate_latest(registry).decode().splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
    return {name.removeprefix("idempotency_"): float(value) for name, value in pairs}


def test_without_any_record_everything_is_nought() -> None:
    found = scraped()
    assert found.pop("database_up") == 1
    assert len(found) == 14
    assert set(found.values()) == {0}


def test_open_keys_are_told_by_state_with_the_age_of_the_oldest(ada: Phone, stage_: Stage) -> None:
    def unknown(request: Any) -> HttpResponse:
        raise OutcomeUnknown

    stage_.act = lambda request: request.idempotency.defer(HttpResponse(status=202))
    ada.send("deferred-1"), ada.send("deferred-2")
    stage_.act = unknown
    ada.send("held", path="/leased/")
    killed_at("leased.claimed", lambda: ada.send("dead", path="/leased/"))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE idempotency_keys SET created_at = created_at - interval '1 hour'"
            " WHERE key = 'deferred-1'"
        )
    found = scraped()
    counts = {state: found[f'open_keys{{state="{state}"}}'] for state in standing.KEY_STATES}
    assert counts == {"leased": 1, "cleared": 0, "deferred": 2, "held": 1}
    assert 3600 <= found['oldest_open_key_seconds{state="deferred"}'] < 3700
    assert found["due_keys"] == 0, "a lease that still runs is called due"


def test_what_a_sweep_should_have_dealt_with_is_told_until_it_has(
    ada: Phone, stage_: Stage, settings: Any
) -> None:
    settings.IDEMPOTENCY = {"LEASE": timedelta(seconds=30)}
    killed_at("leased.claimed", lambda: ada.send("dead", path="/leased/"))
    expire_lease(ADA, "dead")
    run_out(minutes=10)
    found = scraped()
    assert found["due_keys"] == 1
    assert 590 <= found["oldest_due_seconds"] < 700
    sweeps.release_abandoned()
    assert scraped()["due_keys"] == 0


def test_actions_that_are_open_are_told_too() -> None:
    with pytest.raises(RuntimeError), gate.claim("refund", target="1"):
        raise RuntimeError("its end is not known")
    found = scraped()
    assert found['open_actions{state="held"}'] == 1


def test_the_question_reads_the_open_rows_alone() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO idempotency_keys (user_id, key, request_hash, hash_version, operation,"
            " status, response_code, response_headers, response_body, created_at, completed_at)"
            " SELECT gen_random_uuid(), 'k', 'f', 1, 'pay', 'completed', 201, '[]', '', now(), now()"
            " FROM generate_series(1, 20000)"
        )
        cursor.execute("ANALYZE idempotency_keys")
        for question in (standing.OPEN_KEYS, standing.DUE_KEYS):
            cursor.execute(f"EXPLAIN {question}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
            assert "idempotency_keys_open" in plan, f"a scrape reads every row:\n{plan}"
