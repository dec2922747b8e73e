"""What a sender is answered: 200 for what is on record, and never for anything else."""

import json
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from fulfilment import store
from fulfilment.models import ProviderEvent, ProviderEventPayload
from tests.integration.webhooks.support import ADDRESS, SECRET, deliver, event, signed, stored

pytestmark = pytest.mark.django_db

OTHER = SECRET[:-4] + "AAA="


def test_an_event_is_on_record_and_then_answered_200_with_an_empty_body() -> None:
    body = event(reference="r1")
    answer = deliver(body)
    assert (answer.status_code, answer.content) == (200, b"")
    row = stored(body)
    assert (row.provider, row.account, row.livemode) == ("memory", "acct_sandbox", False)
    assert (row.type, row.reference, row.status) == ("transfer.succeeded", "r1", "received")
    assert row.applied_at is None, "received and applied are two facts"
    assert bytes(row.payload.body) == body, "the bytes that were signed are not those on record"


def nothing_stored() -> bool:
    return not ProviderEvent.objects.exists() and not ProviderEventPayload.objects.exists()


def refused(answer: Any, status: int, code: str) -> None:
    assert answer.status_code == status, f"{answer.status_code}: {answer.content!r}"
    assert answer["Content-Type"] == "application/problem+json"
    assert json.loads(answer.content)["code"] == code
    assert nothing_stored(), "something is on record that the sender was refused"


@pytest.mark.parametrize("secret", [OTHER, "whsec_" + "A" * 40])
def test_a_signature_of_somebody_else_is_401(secret: str) -> None:
    body = event()
    answer = deliver(body, signed(body, secret=secret))
    refused(answer, 401, "signature_refused")
    assert answer["WWW-Authenticate"]


@pytest.mark.parametrize("seconds", [-301, 302, 3600, -3600])
def test_a_delivery_from_too_far_away_in_time_is_401(seconds: int) -> None:
    body = event()
    at = datetime.now(UTC) + timedelta(seconds=seconds)
    refused(deliver(body, signed(body, at=at)), 401, "signature_refused")


@pytest.mark.parametrize("seconds", [-298, 299])
def test_a_clock_may_be_five_minutes_off_both_ways(seconds: int) -> None:
    body = event()
    at = datetime.now(UTC) + timedelta(seconds=seconds)
    assert deliver(body, signed(body, at=at)).status_code == 200


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("value", ["", "\xe9", "\x00", "v2", "x" * 100_000])
def test_odd_headers_are_401_and_never_an_error_of_ours(name: str, value: str) -> None:
    body = event()
    refused(deliver(body, signed(body) | {name: value}), 401, "signature_refused")


def test_an_unsigned_delivery_is_401() -> None:
    answer = Client().post(ADDRESS, event(), content_type="application/json")
    refused(answer, 401, "signature_refused")


@pytest.mark.parametrize("secrets", [[], [""], ["  "], "", None])
def test_without_a_secret_every_event_is_401(settings, secrets) -> None:
    settings.FULFILMENT["WEBHOOKS"]["memory"]["SECRETS"] = secrets
    refused(deliver(event()), 401, "signature_refused")


def test_during_a_rotation_the_old_and_the_new_secret_are_believed(settings) -> None:
    settings.FULFILMENT["WEBHOOKS"]["memory"]["SECRETS"] = [OTHER, SECRET]
    for secret in (OTHER, SECRET):
        body = event()
        assert deliver(body, signed(body, secret=secret)).status_code == 200


RAW = (
    rb'{ "id": "evt_raw", "id":"evt_%d", "type":"a.b","account":"a\/b","n":1.0,"e":"\u00e9" }'
    b"\n"
)


def test_the_raw_bytes_are_verified_and_kept() -> None:
    body = RAW % 1
    assert deliver(body).status_code == 200
    assert bytes(stored(body).payload.body) == body


def test_a_copy_that_was_parsed_and_written_again_is_401() -> None:
    body = RAW % 2
    refused(deliver(json.dumps(json.loads(body)).encode(), signed(body)), 401, "signature_refused")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xef\xbb\xbf{}",
        b"[" * 50000,
        event(type=1),
        event(type=None),
        event(id="a\x00b"),
        event(id=None),
        event("", type=""),
    ],
    ids=lambda body: ascii(body[:10]),
)
def test_what_is_signed_and_no_event_is_400(body: bytes) -> None:
    refused(deliver(body), 400, "event_malformed")


def test_a_malformed_body_that_is_not_signed_is_401_and_never_read() -> None:
    refused(deliver(b"{", signed(b"{}")), 401, "signature_refused")


@pytest.mark.parametrize("detail", ["a\x00b", "\ud83d", 10**30, {"a": 1}])
def test_an_odd_detail_keeps_no_event_out(detail: Any) -> None:
    body = event(reference=detail, amount=detail, currency=detail, status=detail, recipient=detail)
    assert deliver(body).status_code == 200
    assert stored(body).reference == ""


def test_an_unknown_type_is_on_record_as_ignored() -> None:
    body = event("transfer.fee_adjusted", reference="r1")
    assert deliver(body).status_code == 200
    assert stored(body).status == "ignored"


def test_a_body_that_is_too_large_is_413(settings) -> None:
    settings.FULFILMENT["MAX_BYTES"] = 1000
    body = event(note="x" * 1000)
    refused(deliver(body), 413, "body_too_large")


def test_a_body_above_djangos_own_limit_is_413_too(settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    refused(deliver(event(note="x" * 1000)), 413, "body_too_large")


class Cut(BytesIO):
    """What a server does with a chunk that is none, or that never came: an exception of its own."""

    def read(self, *_: Any) -> bytes:
        raise EOFError("no more data")


def in_chunks(body: bytes, *, stream: Any = None) -> Any:
    """Without a length, as a proxy may send it on."""
    stream = {"wsgi.input": stream or BytesIO(body), "CONTENT_LENGTH": ""}
    headers = signed(body) | {"transfer-encoding": "chunked"}
    return Client(raise_request_exception=False).generic(
        "POST", ADDRESS, content_type="application/json", headers=headers, **stream
    )


def test_a_body_in_chunks_is_read_and_not_taken_as_empty() -> None:
    body = event()
    assert in_chunks(body).status_code == 200
    assert bytes(stored(body).payload.body) == body


def test_a_body_in_chunks_that_is_too_large_is_413(settings) -> None:
    settings.FULFILMENT["MAX_BYTES"] = 1000
    refused(in_chunks(event(note="x" * 1000)), 413, "body_too_large")


def test_a_body_in_chunks_that_is_cut_is_400_and_no_error_of_ours() -> None:
    refused(in_chunks(event(), stream=Cut()), 400, "event_malformed")


def test_an_unknown_provider_is_404() -> None:
    body = event()
    refused(deliver(body, address="/v1/webhooks/nobody"), 404, "provider_unknown")


def test_only_post_delivers() -> None:
    answer = Client().get(ADDRESS)
    refused(answer, 405, "event_not_posted")
    assert answer["Allow"] == "POST"


def test_a_delivery_is_taken_without_a_csrf_token_and_without_a_session() -> None:
    body = event()
    client = Client(enforce_csrf_checks=True)
    answer = client.post(ADDRESS, body, content_type="application/json", headers=signed(body))
    assert answer.status_code == 200
    assert not answer.cookies


def test_while_the_database_takes_nothing_the_sender_is_asked_to_try_again(monkeypatch) -> None:
    def down(**_: Any) -> None:
        raise OperationalError("the database system is shutting down")

    monkeypatch.setattr(store, "insert_event", down)
    answer = deliver(event())
    refused(answer, 503, "unavailable")
    assert int(answer["Retry-After"]) >= 1


def test_every_refusal_has_its_page() -> None:
    answer = deliver(event(), {"webhook-id": "x"})
    page = Client().get(json.loads(answer.content)["type"])
    assert page.status_code == 200
    assert b"signature" in page.content
