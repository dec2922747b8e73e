"""The audit finds what it was made to find: each guard is a real one, in a process of its own."""

import json
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from idempotency.audit import steps
from tests.audit.conftest import Peer, Serve

pytestmark = pytest.mark.processes

ADA, BOLA = "Authorization: Bearer ada-of-the-tests", "Authorization: Bearer bola-of-the-tests"


@dataclass(frozen=True, slots=True)
class Audited:
    """What the audit said, by check, and in words."""

    verdicts: dict[str, str]
    checks: dict[str, Any]
    said: str
    broken: str

    def failed(self) -> set[str]:
        return {code for code, verdict in self.verdicts.items() if verdict == "failed"}


def audit(peer: Peer) -> Audited:
    written, told, broken = StringIO(), StringIO(), ""
    try:
        call_command(
            "idempotency_audit", peer.url, header=[ADA], other_header=[BOLA], format="json",
            body='{"amount": 100, "currency": "EUR"}', bad_body='{"amount": "much"}',
            stdout=written, stderr=told,
        )  # fmt: skip
    except CommandError as error:
        broken = str(error)
    report = json.loads(written.getvalue())
    checks = {check["check"]: check for check in report["checks"]}
    verdicts = {code: check["verdict"] for code, check in checks.items()}
    return Audited(verdicts, checks, told.getvalue(), broken)


def test_it_finds_that_an_unguarded_endpoint_pays_twice(serve: Serve) -> None:
    peer = serve("unguarded")
    found = audit(peer)
    assert "executed twice" in found.checks["replay"]["seen"], found.checks["replay"]
    assert "10 different things" in found.checks["at-once"]["seen"], found.checks["at-once"]
    assert {"replay", "other-body", "missing", "two-keys", "at-once"} <= found.failed()
    assert found.verdicts["quoted"] == "could not tell", "a finer question has a verdict of its own"
    assert found.broken, "promises are broken, and the command ends as if all was well"
    paid = len(peer.payments())
    assert paid <= steps.effects_at_worst(), f"it said fewer effects than the {paid} it had"
    assert f"up to {steps.effects_at_worst()}" in found.said


def test_it_finds_that_drf_idempotency_answers_another_user(serve: Serve) -> None:
    peer = serve("drf_idempotency")
    found = audit(peer)
    assert found.verdicts["stranger"] == "failed", found.checks["stranger"]
    assert "got the first user's answer" in found.checks["stranger"]["seen"]
    assert "bola-of-the-tests" not in {owner for owner, _ in peer.payments()}, "Bola did pay"
    kept = {"replay", "marker", "headers", "other-body", "unspoilt", "at-once", "after", "refusal"}
    wrong = {code: found.checks[code]["seen"] for code in kept & found.failed()}
    assert not wrong, f"the audit accuses it of what it does well: {wrong}"


def test_it_finds_that_django_idempotency_key_runs_duplicates_at_once(serve: Serve) -> None:
    peer = serve("django_idempotency_key")
    found = audit(peer)
    assert found.verdicts["at-once"] == "failed", found.checks["at-once"]
    assert "different things" in found.checks["at-once"]["seen"]
    assert found.verdicts["other-body"] == "failed", "another body is carried out under the key"
    assert found.verdicts["stranger"] == "passed", found.checks["stranger"]
    assert found.verdicts["replay"] == "passed", found.checks["replay"]
