"""Opening a stored answer: by whom and why is on record, and what is shown is masked (C047)."""

import html
import json
from typing import Any

from django.db import connection
from django.test import Client

from idempotency.models import AuditEntry
from tests.integration.keys import cast

SECRET = {"toAccount": "0123456789", "iban": "DE00TEST000000000001", "token": "s3cr3t", "n": 7}


def opened(client: Client, key: Any, reason: str = "the customer asks") -> str:
    found = client.post(cast.address(key, "open"), {"reason": reason})
    assert found.status_code == 200, found.content
    return html.unescape(found.content.decode())


def test_the_page_does_not_show_the_body_before_it_is_opened(senior: Client) -> None:
    key = cast.answered(b'{"note":"what-was-told"}')
    assert "what-was-told" not in senior.get(cast.address(key)).content.decode()
    assert AuditEntry.objects.count() == 0


def test_opening_is_on_record_and_shows_status_headers_and_body(senior: Client) -> None:
    headers = [["Content-Type", "application/json"], ["Location", "/v1/transfers/7"]]
    key = cast.answered(json.dumps(SECRET).encode(), status=201, headers=headers)
    page = opened(senior, key)
    for shown in ("201", "/v1/transfers/7", "******6789", "0001", '"token": "***"', '"n": 7'):
        assert shown in page, shown
    for hidden in ("0123456789", "DE00TEST000000000001", "s3cr3t"):
        assert hidden not in page, f"{hidden} is shown"
    [entry] = AuditEntry.objects.all()
    assert (entry.actor, entry.action, entry.reason) == (
        "staff:senior", "body_opened", "the customer asks",
    )  # fmt: skip
    assert entry.subject == f"key:{key.user_id}:{key.key}"
    assert senior.get(cast.address(key)).content.decode().count("opened the stored answer") == 1


def test_what_is_stored_is_not_touched_by_opening_it(senior: Client) -> None:
    body = json.dumps(SECRET).encode()
    key = cast.answered(body)
    opened(senior, key)
    assert bytes(cast.stands(key).response_body) == body, "a replay is not byte for byte any more"


def test_without_a_reason_it_stays_closed(senior: Client) -> None:
    key = cast.answered(b'{"note":"what-was-told"}')
    refused = senior.post(cast.address(key, "open"), {"reason": " "})
    assert refused.status_code == 400
    assert "what-was-told" not in refused.content.decode()
    assert AuditEntry.objects.count() == 0


def test_a_body_with_markup_is_shown_as_text(senior: Client) -> None:
    key = cast.answered(b"<script>alert(1)</script>", headers=[["Content-Type", "text/html"]])
    found = senior.post(cast.address(key, "open"), {"reason": "r"}).content.decode()
    assert "<script>alert" not in found
    assert "&lt;script&gt;alert(1)" in found


def test_a_body_that_is_no_text_is_a_size_and_a_dump(senior: Client) -> None:
    key = cast.answered(b"%PDF\x00\xff" * 1000, headers=[["Content-Type", "application/pdf"]])
    page = opened(senior, key)
    assert "6000 bytes" in page
    assert "0000  25 50 44 46 00 ff" in page
    assert "00f0  " in page
    assert "0100  " not in page, "the whole of a binary body is on the page"


def test_an_empty_answer_and_a_long_one_are_shown(senior: Client) -> None:
    assert "0 bytes" in opened(senior, cast.answered(b"", status=204))
    long = opened(senior, cast.answered(b"x" * 60_000, headers=[["Content-Type", "text/plain"]]))
    assert "The rest is left out here" in long
    assert "x" * 50_001 not in long


def hides_all(operation: str, body: bytes, content_type: str) -> bytes:
    return f"{operation} in {content_type}: hidden".encode()


def breaks(operation: str, body: bytes, content_type: str) -> bytes:
    raise ZeroDivisionError


def test_a_project_says_itself_what_is_hidden(senior: Client, settings: Any) -> None:
    settings.IDEMPOTENCY = {"REDACT": f"{__name__}.hides_all"}
    page = opened(senior, cast.answered(b'{"note":"what-was-told"}'))
    assert "desk.order in application/json: hidden" in page
    assert "what-was-told" not in page


def test_nothing_is_shown_where_hiding_fails(senior: Client, settings: Any) -> None:
    settings.IDEMPOTENCY = {"REDACT": f"{__name__}.breaks"}
    page = opened(senior, cast.answered(b'{"note":"what-was-told"}'))
    assert "IDEMPOTENCY['REDACT'] failed (ZeroDivisionError), so nothing is shown" in page
    assert "what-was-told" not in page


def test_a_key_without_an_answer_has_nothing_to_open(senior: Client) -> None:
    key = cast.row()
    assert "Open the stored answer" not in senior.get(cast.address(key)).content.decode()
    opened(senior, key)
    assert AuditEntry.objects.count() == 0


def test_what_was_written_down_cannot_be_changed_in_the_admin(senior: Client) -> None:
    opened(senior, cast.answered())
    entry = AuditEntry.objects.get()
    root = cast.browser(cast.person("root", is_superuser=True))
    address = f"/admin/idempotency/auditentry/{entry.pk}"
    assert "the customer asks" in root.get(f"{address}/change/").content.decode()
    assert root.post(f"{address}/change/", {"reason": "another"}).status_code == 403
    assert root.post(f"{address}/delete/", {"post": "yes"}).status_code == 403
    marked = {"action": "delete_selected", "_selected_action": [entry.pk], "post": "yes"}
    root.post("/admin/idempotency/auditentry/", marked)
    assert AuditEntry.objects.get().reason == "the customer asks"
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM idempotency_audit")
        assert cursor.fetchone()[0] == 1


def test_the_trail_is_found_by_what_it_is_about(senior: Client) -> None:
    key, other = cast.answered(), cast.answered()
    opened(senior, key, "first reason")
    opened(senior, other, "second reason")
    listing = "/admin/idempotency/auditentry/"
    page = senior.get(listing).content.decode()
    for said in (
        "second reason",
        "opened the stored answer",
        "Audit trail: what people did by hand",
        " UTC",
    ):
        assert said in page, said
    found = senior.get(listing, {"q": f"key:{key.user_id}:{key.key}"}).content.decode()
    assert ("first reason" in found, "second reason" in found) == (True, False)
