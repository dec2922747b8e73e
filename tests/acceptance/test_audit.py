"""Our own audit of an endpoint, fired at our own endpoints as anybody would: every promise is kept."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ledgerline.demo.check.system import System
from tests.acceptance.conftest import ROOT

pytestmark = pytest.mark.processes

# What cannot be seen of an endpoint that answers within milliseconds.
TOO_QUICK = {"prompt", "retry-after"}


def audit(system: System, folder: Path, *, body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The findings by check; Ada sends the order, and Bola is somebody else."""
    ada, bola = (f"Authorization: Bearer {system.users[who]['token']}" for who in ("ada", "bola"))
    credentials = folder / "ada.txt"
    credentials.write_text(f"{ada}\n")
    done = subprocess.run(
        [
            sys.executable, "manage.py", "idempotency_audit", f"{system.base_url}/v1/transfers",
            "--header", f"@{credentials}", "--other-header", bola, "--body", json.dumps(body),
            "--bad-body", json.dumps(body | {"amount": 10**11}), "--format", "json",
        ],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    for secret in (ada, bola):
        assert secret.split()[-1] not in done.stdout + done.stderr, "a token was printed"
    return {check["check"]: check for check in json.loads(done.stdout)["checks"]}


def _not_passed(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {code: check["seen"] for code, check in found.items() if check["verdict"] != "passed"}


def test_transfers_within_the_bank_pass_the_audit(system: System, tmp_path: Path) -> None:
    third = next(user for who, user in system.users.items() if who not in ("ada", "bola"))
    order = {"toAccount": third["account"], "amount": 1, "currency": "NGN", "narration": "audit"}
    left = _not_passed(audit(system, tmp_path, body=order))
    assert set(left) <= TOO_QUICK, f"the audit of our own endpoint says: {left}"


def test_transfers_to_another_bank_pass_the_audit_while_their_outcome_is_open(
    system: System, tmp_path: Path
) -> None:
    order = {"toAccount": "0123456789", "toBank": "sandbox", "amount": 1, "currency": "NGN"}
    found = audit(system, tmp_path, body=order | {"narration": "audit"})
    broken = {code: c["seen"] for code, c in found.items() if c["verdict"] == "failed"}
    assert not broken, f"the audit of our own endpoint says: {broken}"
    assert found["at-once"]["verdict"] == found["stranger"]["verdict"] == "passed"
