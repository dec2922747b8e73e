"""The report, as a person and as a program reads it."""

import json
from typing import Any

from idempotency.audit import checks, report, steps
from idempotency.audit.messages import Exchange, Request
from idempotency.audit.order import Order
from idempotency.audit.report import Report
from tests.unit.audit.build import MARKER, answer, evidence

SECRET = b"Bearer ada-secret-token"
ORDER = Order("POST", (("Authorization", SECRET),), b"{}", marker=MARKER)


def _report(**otherwise: Any) -> Report:
    seen = evidence(**otherwise)
    headers = (("Authorization", SECRET), ("Idempotency-Key", b"k1"))
    asked = Exchange("replay", Request("POST", headers, b"{}"), answer(201, {"id": 9}), 0, 0.25)
    if "replay" in otherwise:
        seen.exchanges["replay"] = (asked,)  # type: ignore[index]
    return Report("http://127.0.0.1/", ORDER, seen, tuple(checks.judge(seen)))


def test_a_failure_is_told_with_its_meaning_its_cause_and_what_was_exchanged() -> None:
    said = _report(replay=answer(201, {"id": 9})).as_text()
    failure = said[said.index("[failed] replay") : said.index("marker:")]
    assert "paid twice" in failure, "what it means is not said"
    assert "is the endpoint guarded at all" in failure, "its likely cause is not said"
    assert "> Idempotency-Key: k1" in failure
    assert "< 201 after 0.25 s" in failure
    assert '{"id": 9}' in failure
    assert "ada-secret-token" not in said, "a credential is printed"


def test_an_endpoint_that_keeps_everything_gets_one_short_line_each() -> None:
    good = _report()
    assert good.failures == 0
    assert good.as_text().endswith(f"\n{len(checks.CHECKS)} passed, 0 failed, 0 could not tell.")
    assert "  >" not in good.as_text()


def test_a_program_gets_the_same_with_the_exchanges_of_every_check() -> None:
    told = json.loads(_report(replay=answer(201, {"id": 9})).as_json())
    failed = [check for check in told["checks"] if check["verdict"] == "failed"]
    assert told["failed"] == len(failed) > 0
    assert all(check["means"] and check["cause"] and check["evidence"] for check in failed)
    assert "ada-secret-token" not in json.dumps(told)


def test_what_will_happen_is_said_in_numbers() -> None:
    said = report.warning("http://127.0.0.1/", seconds=120)
    for number in (steps.most_requests(), steps.effects_if_kept(), steps.effects_at_worst(), 120):
        assert str(number) in said
    assert steps.effects_if_kept() < steps.effects_at_worst() < steps.most_requests()
