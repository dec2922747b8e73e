"""The list of keys: held ones first, and quick on a table that has grown."""

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from idempotency.admin import keys, paging
from idempotency.admin.states import STATES
from tests.integration.keys import cast

GROWN = 100_000


def listed(client: Client, **query: str) -> str:
    found = client.get(cast.LIST, query)
    assert found.status_code == 200
    return re.sub(r"\s+", " ", found.content.decode())


def test_held_keys_are_counted_first_and_shown_oldest_first(senior: Client) -> None:
    now = timezone.now()
    old = cast.row(held_at=now - timedelta(days=2), hold_reason="old reason, 0123456789")
    young = cast.row(held_at=now - timedelta(minutes=1), hold_reason="young reason")
    done = cast.answered()
    page = listed(senior)
    assert "2 requests are held: nobody knows whether they happened" in page
    states = re.findall(r'\?state=([a-z]+)"', page)
    assert states[:2] == ["held", "held"], "held is not the first of the states"
    assert "Held: nobody knows (2)" in page
    page = listed(senior, state="held")
    assert page.index(f">{old.key}<") < page.index(f">{young.key}<")
    assert f">{done.key}<" not in page
    for shown in ("old reason, ******6789", "next: <time", cast.OPERATION, "(in 19 minutes"):
        assert shown in page, shown
    assert "0123456789" not in page


def test_nothing_held_is_said_in_words(senior: Client) -> None:
    assert "No request is held" in listed(senior)
    assert "No key fits what you chose." in listed(senior, state="held")


EXPIRED = {"held_at": None, "hold_reason": "", "next_check_at": None}


@pytest.mark.parametrize(
    ("state", "word", "changes"),
    [
        ("held", "Held: nobody knows", {}),
        ("leased", "Running", EXPIRED | {"locked_until": timedelta(minutes=1)}),
        ("overdue", "Came to no end", EXPIRED | {"locked_until": -timedelta(minutes=1)}),
        (
            "overdue",
            "Came to no end",
            EXPIRED | {"locked_until": -timedelta(minutes=1), "sent_at": None},
        ),
        (
            "waiting",
            "Free for its client",
            EXPIRED
            | {
                "locked_until": -timedelta(minutes=1),
                "sent_at": None,
                "cleared_at": -timedelta(minutes=1),
            },
        ),
        ("deferred", "Outcome open", EXPIRED | {"sent_at": None, "claim_token": None}),
        ("completed", "Done", None),
        ("failed", "Refused", None),
    ],
)
def test_every_state_is_named_filtered_and_explained(
    senior: Client, state: str, word: str, changes: Any
) -> None:
    others = [cast.row(), cast.answered(), cast.answered(status=400)]
    if changes is None:
        mine = cast.answered(status=201 if state == "completed" else 400)
    else:
        now = timezone.now()
        mine = cast.row(
            **{n: now + v if isinstance(v, timedelta) else v for n, v in changes.items()}
        )
    page = listed(senior, state=state)
    assert f">{mine.key}<" in page
    assert f">{word}</span>" in page
    shown = [o.key for o in others if f">{o.key}<" in page]
    assert len(shown) <= 1, "the filter shows other states, too"
    page = senior.get(cast.address(mine)).content.decode()
    assert "What is known" in page
    assert ("What you can do" in page) == (state == "held"), "a decision on a key that is not held"


def test_keys_are_narrowed_by_when_they_were_first_used(senior: Client) -> None:
    now = timezone.now()
    new = cast.answered(created_at=now - timedelta(minutes=5))
    old = cast.answered(created_at=now - timedelta(days=40))
    for used, expected in {"hour": [new], "week": [new], "older": [old], "": [new, old]}.items():
        page = listed(senior, used=used)
        assert [key for key in (new, old) if f">{key.key}<" in page] == expected, used


def test_no_page_reads_a_grown_table_from_end_to_end(
    senior: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred thousand answered keys of a thousand users, and three that are held."""
    monkeypatch.setattr(keys, "NEWEST", 5000)
    user, key = grown()
    searches = ["", key, user, f"{user} {key}"]
    pages = [{"q": words} for words in searches] + [{"state": name} for name in STATES]
    with CaptureQueriesContext(connection) as seen:
        for query in [*pages, {"used": "hour"}, {"used": "older"}]:
            assert senior.get(cast.LIST, query).status_code == 200
    for plan in plans(seen.captured_queries):
        counts = [float(rows) for rows in re.findall(r"actual time=\S+ rows=([0-9.]+)", plan)]
        skipped = [int(rows) for rows in re.findall(r"Rows Removed by Filter: ([0-9]+)", plan)]
        assert max(counts + skipped) <= paging.MOST, f"the whole table is read:\n{plan}"
    with CaptureQueriesContext(connection) as seen:
        page = senior.get(f"{cast.LIST}{user}_3A{key}/change/").content.decode()
        found = senior.get(cast.LIST, {"q": f"{user} {key}"}).content.decode()
    assert "What is known" in page
    assert f">{key}<" in found
    named = [plan for plan in plans(seen.captured_queries) if key in plan]
    assert len(named) >= 2
    for plan in named:
        assert "idempotency_keys_pkey" in plan, f"not by the primary key:\n{plan}"


def test_a_key_alone_is_found_among_the_newest_and_with_its_user_among_all(
    senior: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "NEWEST", 2)
    now = timezone.now()
    old, *_, new = [
        cast.answered(user_id=uuid4(), key=str(uuid4()), created_at=now - timedelta(days=9 - day))
        for day in range(4)
    ]
    found = {
        query: sorted(row.key for row in (old, new) if f">{row.key}<" in listed(senior, q=query))
        for query in (old.key, new.key, f"{old.user_id} {old.key}", f"{old.key} {old.user_id}")
    }
    assert list(found.values()) == [[], [new.key], [old.key], [old.key]]
    assert f">{old.key}<" in listed(senior, q=str(old.user_id))
    for nobody in (f"{new.user_id} {old.key}", new.key[:8], f"{new.key} x y"):
        assert "No key fits" in listed(senior, q=nobody), nobody


def grown() -> tuple[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO idempotency_keys (user_id, key, request_hash, hash_version, operation,"
            " status, created_at, completed_at, response_code, response_headers, response_body)"
            " SELECT md5((n %% 1000)::text)::uuid, md5('k' || n), md5('h' || n), 1, %s,"
            " CASE WHEN n %% 20 = 0 THEN 'failed' ELSE 'completed' END,"
            " clock_timestamp() - n * interval '50 s', clock_timestamp(),"
            " CASE WHEN n %% 20 = 0 THEN 400 ELSE 201 END, '[]', '{}'"
            " FROM generate_series(1, %s) n RETURNING user_id::text, key",
            [cast.OPERATION, GROWN],
        )
        user, key = cursor.fetchone()
        for _ in range(3):
            cast.row()
        cursor.execute("ANALYZE idempotency_keys")
    return user, key


def plans(queries: list[dict[str, str]]) -> list[str]:
    """How PostgreSQL carries out the statements on keys that were seen."""
    found = []
    with connection.cursor() as cursor:
        for query in queries:
            if query["sql"].startswith("SELECT") and "idempotency_key_list" in query["sql"]:
                cursor.execute("EXPLAIN (ANALYZE) " + query["sql"])
                found.append("\n".join(line for (line,) in cursor.fetchall()))
    return found
