"""POST and GET /v1/usage-events: a batch is recorded once, however often it is sent."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from idempotency.models import GatedAction
from ledgerline.bank.models import Account, UsageEvent
from tests.integration.bank.phone import Phone

pytestmark = pytest.mark.django_db

PATH = "/v1/usage-events"
E: dict[str, Any] = {
    "id": "e-1",
    "type": "sms.sent",
    "quantity": 3,
    "occurredAt": "2026-11-30T09:15:00Z",
}


def events(*numbers: int, **said: Any) -> list[dict[str, Any]]:
    return [E | {"id": f"e-{n}", "quantity": n} | said for n in numbers]


def send(account: Account, *batch: Any, key: str | None = None, raw: bytes | None = None) -> Any:
    phone = Phone(account)
    named = {} if key is None else {"Idempotency-Key": key}
    body = json.dumps({"events": list(batch)}).encode() if raw is None else raw
    return phone._client.post(
        PATH, body, content_type="application/json", headers=phone._headers | named
    )


def statuses(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [event["status"] for event in answer.json()["events"]]


def errors(answer: Any) -> Any:
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), answer.content
    assert not UsageEvent.objects.exists(), "a batch with a bad event was recorded in part"
    return answer.json()["errors"]


def test_a_batch_that_is_sent_again_changes_nothing_and_says_so_item_by_item(ada: Account) -> None:
    first = send(ada, *events(1, 2))
    assert first.json() == {
        "recorded": 2,
        "deduplicated": 0,
        "conflicts": 0,
        "events": [{"id": "e-1", "status": "recorded"}, {"id": "e-2", "status": "recorded"}],
    }
    before = list(UsageEvent.objects.order_by("id").values())
    again = send(ada, *events(1, 2, 3))
    assert statuses(again) == ["deduplicated", "deduplicated", "recorded"]
    assert (again.json()["recorded"], again.json()["deduplicated"]) == (1, 2)
    assert list(UsageEvent.objects.order_by("id").values())[:2] == before, "an event was restamped"
    assert UsageEvent.objects.count() == 3


def test_the_same_id_with_other_values_is_a_conflict_that_names_them(ada: Account) -> None:
    send(ada, E | {"metadata": {"sim": "1"}, "account": ada.number})
    answer = send(ada, E | {"quantity": 4, "metadata": {"sim": "2"}}, E | {"id": "e-2"})
    assert answer.json()["events"] == [
        {"id": "e-1", "status": "conflict", "differs": ["account", "metadata", "quantity"]},
        {"id": "e-2", "status": "recorded"},
    ]
    assert UsageEvent.objects.get(event_id="e-1").quantity == 3, "a conflict changed the record"


def test_an_event_twice_in_one_batch_is_recorded_once(ada: Account) -> None:
    answer = send(ada, E, E, E | {"quantity": 9})
    assert statuses(answer) == ["recorded", "deduplicated", "conflict"]
    assert UsageEvent.objects.count() == 1


def test_the_same_moment_in_another_zone_is_the_same(ada: Account) -> None:
    send(ada, E)
    assert statuses(send(ada, E | {"occurredAt": "2026-11-30T10:15:00.000+01:00"})) == [
        "deduplicated"
    ]


def test_an_id_is_its_customer_s_own(ada: Account, eve: Account) -> None:
    assert statuses(send(ada, E)) == statuses(send(eve, E | {"quantity": 9})) == ["recorded"]


def test_with_a_key_a_retry_gets_the_first_answer_and_without_one_the_items_say_so(
    ada: Account,
) -> None:
    key = str(uuid4())
    first, again = send(ada, *events(1), key=key), send(ada, *events(1), key=key)
    assert (again.content, again["Idempotent-Replayed"]) == (first.content, "true")
    assert statuses(again) == ["recorded"]
    assert statuses(send(ada, *events(1))) == ["deduplicated"]
    assert statuses(send(ada, *events(1), key=str(uuid4()))) == ["deduplicated"]
    assert send(ada, *events(2), key=key).status_code == 422
    assert UsageEvent.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("id", value) for value in ("", "x" * 129, "a b", "é", 7, None)),
        *(("type", value) for value in ("", "SMS", "1a", "x" * 65)),
        *(("quantity", value) for value in (-1, 1.5, 1.0, "1", True, None, 2**63)),
        *(
            ("occurredAt", value)
            for value in (
                *("2026-11-30T09:15:00", "2026-11-30", 1764494100, "2026-02-30T00:00:00Z"),
                *("2999-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59"),
                *("0001-01-01T00:00:00+23:59", "2026-11-30T24:00:00Z", "2026-11-30T09:15:00+25:00"),
                *("\u0662026-11-30T09:15:00Z", "2026-11-30T09:15:00+00:60"),
            )
        ),
        *(("account", value) for value in ("123", "0123456711", "9902140714", "", None)),
        *(("metadata", value) for value in ([], {"a": 1}, {"a": "x" * 500}, {"a": "\0"}, "x")),
        ("metadata", {"\ud83d": "x"}),
        ("colour", "red"),
    ],
)
def test_a_bad_event_is_named_and_nothing_is_recorded(
    ada: Account, eve: Account, field: str, value: Any
) -> None:
    [named] = errors(send(ada, *events(1, 2), E | {field: value}))["events"]
    assert named["index"] == 2
    assert list(named["errors"]) == [field]


def test_every_bad_event_is_named_by_its_place(ada: Account) -> None:
    named = errors(send(ada, {}, *events(1), E | {"quantity": -1}, "no event", None))["events"]
    assert [each["index"] for each in named] == [0, 2, 3, 4]
    assert named[4 - 1]["errors"] == {"non_field_errors": ["This field may not be null."]}
    assert sorted(named[0]["errors"]) == ["id", "occurredAt", "quantity", "type"]


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b'{"events": []}', "at least one"),
        (b'{"events": {}}', "list of events"),
        (b"{}", "required"),
        (b'{"events": [' + b",".join([b"{}"] * 1001) + b"]}", "Send them in several requests"),
    ],
)
def test_what_is_no_batch_says_what_to_send(ada: Account, raw: bytes, sentence: str) -> None:
    assert sentence in json.dumps(errors(send(ada, raw=raw)))


def test_a_refused_batch_keeps_no_key(ada: Account) -> None:
    key = str(uuid4())
    errors(send(ada, E | {"quantity": -1}, key=key))
    assert statuses(send(ada, E, key=key)) == ["recorded"]


def test_an_event_of_the_next_minutes_is_taken(ada: Account) -> None:
    soon = (timezone.now() + timedelta(minutes=5)).isoformat(timespec="seconds")
    assert statuses(send(ada, E | {"occurredAt": soon})) == ["recorded"]


def test_a_thousand_events_are_one_insert_in_each_table(ada: Account) -> None:
    batch = events(*range(1_000), metadata={"note": "x" * 400}, account=ada.number)
    with CaptureQueriesContext(connection) as queries:
        answer = send(ada, *batch)
    assert answer.json()["recorded"] == 1_000
    inserts = [query["sql"][:60] for query in queries if "INSERT INTO" in query["sql"]]
    assert len(inserts) == 2, f"not one statement for the slots and one for the events: {inserts}"
    with CaptureQueriesContext(connection) as queries:
        assert send(ada, *batch).json()["deduplicated"] == 1_000
    assert len(queries) < 12


def test_the_slots_hold_no_account_number(ada: Account) -> None:
    send(ada, E | {"account": ada.number})
    assert ada.number not in json.dumps(list(GatedAction.objects.values_list("result", "key")))


def test_an_event_is_never_changed(ada: Account) -> None:
    send(ada, E)
    for change in ("UPDATE bank_usage_event SET quantity = 0", "DELETE FROM bank_usage_event"):
        with (
            pytest.raises(Exception, match="append-only"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(change)


def test_events_are_listed_page_by_page_and_by_type(ada: Account, eve: Account) -> None:
    send(ada, *events(1, 2), *events(3, 4, type="call", account=ada.number, metadata={"to": "x"}))
    send(eve, *events(5))
    first = Phone(ada).list(f"{PATH}?limit=3")
    rest = Phone(ada).list(first["next"])
    assert [event["id"] for event in first["events"] + rest["events"]] == [
        "e-4",
        "e-3",
        "e-2",
        "e-1",
    ]
    assert rest["next"] is None
    newest = first["events"][0]
    assert newest.pop("recordedAt").endswith("Z")
    assert newest == {
        "id": "e-4",
        "type": "call",
        "quantity": 4,
        "occurredAt": "2026-11-30T09:15:00.000000Z",
        "account": "******6780",
        "metadata": {"to": "x"},
    }
    page = Phone(ada).list(f"{PATH}?type=call&limit=1")
    assert [event["id"] for event in page["events"]] == ["e-4"]
    assert [event["id"] for event in Phone(ada).list(page["next"])["events"]] == ["e-3"]
    assert Phone(ada).get(f"{PATH}?after=x").status_code == 400


def test_without_a_token_it_is_401(ada: Account) -> None:
    stranger = Phone(ada)
    stranger._headers = {}
    assert stranger.pay({"events": [E]}, path=PATH).status_code == 401


@pytest.mark.django_db(
    transaction=True, available_apps=["idempotency", "fulfilment", "ledgerline.bank"]
)
def test_overlapping_batches_at_once_record_each_event_once(ada: Account) -> None:
    batches = [events(*range(120)), events(*range(60, 180)), events(*range(179, 59, -1))]
    start = Barrier(len(batches))

    def phone(batch: list[Any]) -> Any:
        try:
            start.wait(10)
            return send(ada, *batch).json()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(batches)) as pool:
        answers = list(pool.map(phone, batches))
    assert sum(answer["recorded"] for answer in answers) == 180, answers
    assert sum(answer["deduplicated"] for answer in answers) == 180
    assert UsageEvent.objects.count() == 180, "an event of two batches was recorded twice"
