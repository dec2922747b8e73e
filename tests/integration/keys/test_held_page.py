"""The page of a held key: what is known, what happens by itself, and what a person may decide."""

import html
import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from idempotency import Answer, Done, NotDone, store
from idempotency.contract import Replay, decide
from idempotency.models import AuditEntry
from tests.integration.keys import cast
from tests.integration.keys.conftest import Desk

INLINE = re.compile(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", re.IGNORECASE)


def text(client: Client, key: Any) -> str:
    found = client.get(cast.address(key))
    assert found.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found.content.decode()))


def trail() -> list[tuple[str, str, str]]:
    return list(AuditEntry.objects.order_by("id").values_list("actor", "action", "reason"))


def test_it_says_what_is_known_and_what_happens_by_itself(senior: Client) -> None:
    page = text(senior, cast.row())
    for said in (
        "Nobody knows whether this happened",
        "the desk is closed",
        "asked again at",
        "outcome unknown",
        "It cannot be taken back",
        "If it did happen after all, it happens twice",
    ):
        assert said in page, said


def test_a_key_that_nobody_can_ask_about_says_so(senior: Client) -> None:
    page = text(senior, cast.row(operation="gone.view"))
    assert "no view named gone.view is installed any more" in page
    assert "there is nobody to ask" in page, "the button for asking does not say why it is off"


def test_settling_gives_the_answer_that_every_retry_gets(senior: Client) -> None:
    key = cast.row()
    fields = cast.given(key, status=201, body='{"order": 7}', reason="their statement, line 3")
    done = senior.post(cast.address(key, "settle"), fields)
    assert (done.status_code, done["Location"]) == (302, cast.address(key))
    row = store.read(key.user_id, key.key)
    assert row is not None
    decision = decide(row.record, fingerprint=key.request_hash, now=row.now)
    kind = (("Content-Type", "application/json"),)
    assert isinstance(decision, Replay)
    assert decision.answer == Answer(201, kind, b'{"order": 7}')
    assert trail() == [("staff:senior", "settled", "their statement, line 3")]
    assert "gave it its answer (201)" in text(senior, key)


def test_a_refusal_by_hand_is_a_problem_that_clients_understand(senior: Client) -> None:
    key = cast.row()
    body = json.dumps({"code": "transfer_failed", "retry": "new_key", "safe_new_key": True})
    senior.post(cast.address(key, "settle"), cast.given(key, status=400, body=body))
    answer = store.read(key.user_id, key.key).record.answer  # type: ignore[union-attr]
    assert answer is not None
    assert (answer.status, answer.invites_new_key) == (400, True)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"reason": " "}, "kept in the audit trail"),
        ({"status": ""}, "Give the status"),
        ({"status": 503}, "less than or equal to 499"),
        ({"status": 409}, "a retry would have to run again"),
        ({"status": 204}, "has no body"),
        ({"body": "{'a': 1}"}, "This is not JSON"),
        ({"body": "NaN"}, "This is not JSON"),
        ({"body": "[" * 90_000}, "This is not JSON"),
        ({"held_at": ""}, "something is missing"),
    ],
)
def test_a_form_that_is_not_complete_changes_nothing_and_keeps_what_was_typed(
    senior: Client, fields: dict[str, Any], said: str
) -> None:
    key = cast.row()
    refused = senior.post(cast.address(key, "settle"), cast.given(key, **fields))
    assert refused.status_code == 400
    page = refused.content.decode()
    assert said in page
    assert fields.get("reason") or "ticket 7" in page, "what was typed is lost"
    assert (cast.stands(key).status, trail()) == ("in_progress", [])


def test_releasing_leaves_the_key_to_the_same_request_only(senior: Client) -> None:
    key = cast.row()
    assert senior.post(cast.address(key, "release"), cast.given(key)).status_code == 302
    now = cast.stands(key)
    assert (now.held_at, now.sent_at, now.hold_reason) == (None, None, "")
    assert now.request_hash == key.request_hash, "another request could have the key"
    assert now.claim_token != key.claim_token, "whoever still asks could settle it afterwards"
    assert now.cleared_at is not None
    assert trail() == [("staff:senior", "released", "ticket 7")]
    assert "Free for its client" in text(senior, key)


@pytest.mark.parametrize("step", ["settle", "release"])
def test_a_reason_is_needed_also_from_a_superuser(db: None, desk: Desk, step: str) -> None:
    root = cast.browser(cast.person("root", is_superuser=True))
    key = cast.row()
    assert root.post(cast.address(key, step), cast.given(key, reason="")).status_code == 400
    assert (cast.stands(key).held_at, trail()) == (key.held_at, [])
    assert root.post(cast.address(key, step), cast.given(key)).status_code == 302


@pytest.mark.parametrize(
    ("says", "state", "said"),
    [
        (Done(Answer(201, (), b"found")), "Done", "Its client now gets 201"),
        (NotDone(), "Free for its client", "nothing happened"),
        (
            None,
            "Held: nobody knows",
            'class="warning">Asked just now: still unknown (still closed)',
        ),
    ],
)
def test_asking_now_does_what_the_sweep_would(
    senior: Client, desk: Desk, says: Any, state: str, said: str
) -> None:
    if says is not None:
        desk.says = lambda record: says
    key = cast.row()
    page = senior.post(cast.address(key, "ask"), cast.given(key), follow=True).content.decode()
    assert said in page
    assert state in page
    assert (desk.asked, trail()) == (1, [("staff:senior", "asked", "")])


@pytest.mark.parametrize("step", ["ask", "settle", "release"])
def test_each_button_owns_its_transaction_also_under_atomic_requests(
    senior: Client, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    key = cast.row()
    assert senior.post(cast.address(key, step), cast.given(key)).status_code == 302
    assert len(trail()) == 1


def test_a_view_that_fails_when_it_is_asked_leaves_the_key_held(senior: Client, desk: Desk) -> None:
    desk.says = lambda record: 1 / 0
    key = cast.row()
    page = senior.post(cast.address(key, "ask"), cast.given(key), follow=True).content.decode()
    assert "still unknown (asking failed: ZeroDivisionError)" in page
    assert cast.stands(key).held_at == key.held_at


def test_another_click_on_the_same_page_changes_nothing(senior: Client, desk: Desk) -> None:
    for step in ("ask", "settle", "release"):
        key = cast.row()
        fields = cast.given(key)
        senior.post(cast.address(key, step), fields)
        before, entries = cast.stands(key), len(trail())
        again = senior.post(cast.address(key, step), fields, follow=True)
        assert "You did this already" in again.content.decode(), step
        after = cast.stands(key)
        assert (after.claim_token, after.status, after.next_check_at) == (
            before.claim_token, before.status, before.next_check_at,
        ), step  # fmt: skip
        assert len(trail()) == entries, step
    assert desk.asked == 1


@pytest.mark.parametrize("step", ["settle", "release", "ask"])
def test_a_page_that_is_out_of_date_is_refused_with_who_and_when(
    senior: Client, desk: Desk, step: str
) -> None:
    key = cast.row()
    seen = cast.given(key, reason="what the senior typed")
    other = cast.browser(cast.person("lead", *cast.DECIDE))
    other.post(cast.address(key, "settle"), cast.given(key, status=400, body=""))
    refused = senior.post(cast.address(key, step), seen)
    page = refused.content.decode()
    assert refused.status_code == 409
    assert re.search(r"Not done: lead gave it its answer \(400\) at <time", page)
    if step != "ask":
        assert "what the senior typed" in page, "what was typed is lost"
    assert (cast.stands(key).response_code, len(trail()), desk.asked) == (400, 1, 0)


def test_a_page_that_a_sweep_overtook_is_refused(senior: Client) -> None:
    key = cast.row()
    seen = cast.given(key)
    assert store.settle_held(key.user_id, key.key, Answer(201, (), b""), held_at=key.held_at)
    refused = senior.post(cast.address(key, "release"), seen)
    assert refused.status_code == 409
    assert "the automatic checks or a retry changed it at" in refused.content.decode()


def test_another_hold_of_the_same_key_is_not_the_one_that_was_seen(senior: Client) -> None:
    key = cast.row()
    seen = cast.given(key) | {"held_at": "2026-01-01T00:00:00.000001+00:00"}
    assert senior.post(cast.address(key, "settle"), seen).status_code == 409
    assert cast.stands(key).status == "in_progress"


@pytest.mark.parametrize("step", ["settle", "release", "ask", "open"])
def test_each_button_has_a_permission_that_the_server_checks(
    db: None, desk: Desk, step: str
) -> None:
    """A hand-made POST of somebody who may only look changes nothing (C106)."""
    viewer = cast.browser(cast.person("viewer", *cast.VIEW))
    key = cast.answered() if step == "open" else cast.row()
    page = viewer.get(cast.address(key)).content.decode()
    assert "You do not have the permission" in page
    assert f'id="form-{step}"' not in page
    assert viewer.post(cast.address(key, step), cast.given(key)).status_code == 403
    assert (cast.stands(key).held_at, trail(), desk.asked) == (key.held_at, [], 0)


def test_who_may_not_see_keys_sees_and_does_nothing(db: None, desk: Desk) -> None:
    stranger = cast.browser(cast.person("stranger", "settle_held", "release_held"))
    key = cast.row()
    for name in ("change", "settle", "release", "ask", "open"):
        assert stranger.get(cast.address(key, name)).status_code == 403
        assert stranger.post(cast.address(key, name), cast.given(key)).status_code == 403
    assert cast.stands(key).held_at == key.held_at


def test_a_get_on_a_button_only_leads_back(senior: Client) -> None:
    key = cast.row()
    for step in ("settle", "release", "ask", "open"):
        answer = senior.get(cast.address(key, step))
        assert (answer.status_code, answer["Location"]) == (302, cast.address(key))
    assert trail() == []


def test_a_form_of_another_site_is_refused(db: None, desk: Desk) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.person("senior", *cast.DECIDE))
    key = cast.row()
    assert client.post(cast.address(key, "release"), cast.given(key)).status_code == 403
    assert cast.stands(key).held_at == key.held_at


def test_no_page_has_inline_code_and_texts_are_shown_as_texts(senior: Client) -> None:
    key = cast.row(hold_reason="<script>alert(1)</script> of 0123456789")
    for address in (cast.address(key), cast.LIST, "/admin/idempotency/auditentry/"):
        answer = senior.get(address)
        page = answer.content.decode()
        assert INLINE.search(page) is None, address
        assert "0123456789" not in page, "a reason shows an account number"
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "&lt;script&gt;alert(1)" in senior.get(cast.address(key)).content.decode()


def test_a_key_of_any_characters_has_a_page(senior: Client) -> None:
    key = cast.row(key="a/b?c=%20_d:e\"f'<g>")
    found = senior.get(cast.LIST).content.decode()
    address = re.search(r'href="([^"]+/change/[^"]*)"', found)
    assert address is not None
    page = senior.get(html.unescape(address[1])).content.decode()
    assert "What is known" in page
    posted = re.search(r'action="([^"]+/release/)"', page)
    assert posted is not None
    assert senior.post(html.unescape(posted[1]), cast.given(key)).status_code == 302
    assert cast.stands(key).held_at is None
