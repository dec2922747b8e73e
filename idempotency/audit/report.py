"""The findings for a person, and for a program. Pure: no Django, no I/O."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from idempotency.audit import masking, steps
from idempotency.audit.evidence import Evidence
from idempotency.audit.findings import Check, Finding, Verdict
from idempotency.audit.messages import Exchange
from idempotency.audit.order import Order


@dataclass(frozen=True, slots=True)
class Report:
    """One audit, ready to be printed. `url` is where it was sent to."""

    url: str
    order: Order
    evidence: Evidence
    findings: tuple[tuple[Check, Finding], ...]

    @property
    def failures(self) -> int:
        """How many promises were broken."""
        return sum(finding.verdict is Verdict.FAILED for _, finding in self.findings)

    @property
    def says_nothing(self) -> bool:
        """True if no promise could be judged at all: no reason to be content."""
        return all(finding.verdict is Verdict.UNKNOWN for _, finding in self.findings)

    def as_text(self) -> str:
        """Every check in words; the exchanges stand below what was not passed."""
        lines = [line for check, finding in self.findings for line in self._lines(check, finding)]
        return "\n".join([*lines, "", self._sum()])

    def as_json(self) -> str:
        """The same for a program, with the exchanges of every check."""
        checks = [self._data(check, finding) for check, finding in self.findings]
        told = {"url": self.url, "failed": self.failures, "checks": checks}
        return json.dumps(told, indent=2, ensure_ascii=False)

    def _lines(self, check: Check, finding: Finding) -> Iterator[str]:
        yield f"[{finding.verdict}] {check.code}: {check.promise}"
        yield f"    {finding.seen}"
        if finding.verdict is Verdict.FAILED:
            yield f"    What it means: {finding.means}"
            yield f"    Likely cause:  {finding.cause}"
            for exchange in self._exchanges(check):
                yield from (f"      {line}" for line in self._shown(exchange))

    def _data(self, check: Check, finding: Finding) -> dict[str, Any]:
        return {
            "check": check.code,
            "promise": check.promise,
            "verdict": finding.verdict.value,
            "seen": finding.seen,
            "means": finding.means,
            "cause": finding.cause,
            "evidence": ["\n".join(self._shown(exchange)) for exchange in self._exchanges(check)],
        }

    def _exchanges(self, check: Check) -> Iterator[Exchange]:
        for step in check.steps:
            yield from self.evidence.all(step)

    def _shown(self, exchange: Exchange) -> Iterator[str]:
        sent, secrets = exchange.request, masking.secrets_of(self._given())
        way = "in chunks" if sent.chunked else f"{len(sent.body)} bytes"
        yield f"{exchange.name}: {sent.method} ({way})"
        for line in masking.request_headers(sent.headers, key_header=self.order.key_header):
            yield f"  > {line}"
        if exchange.answer is None:
            yield f"  < {exchange.error}"
            return
        yield f"  < {exchange.answer.status} after {exchange.seconds:.2f} s"
        headers = masking.answer_headers(exchange.answer.headers, marker=self.order.marker)
        yield from (f"  < {line}" for line in headers)
        yield f"  < {masking.text(exchange.answer.body, secrets=secrets)}"

    def _given(self) -> Iterable[tuple[str, bytes]]:
        return (*self.order.headers, *(self.order.other_user or ()))

    def _sum(self) -> str:
        counts = Counter(finding.verdict for _, finding in self.findings)
        return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict) + "."


def warning(url: str, *, seconds: float) -> str:
    """What will happen, said before anything is sent."""
    return (
        f"This sends at most {steps.most_requests()} requests to {url} within {seconds:g} seconds.\n"
        f"Each asks for the same real effect. An endpoint that keeps the contract has at most "
        f"{steps.effects_if_kept()} effects of it; one that keeps nothing up to "
        f"{steps.effects_at_worst()}: use accounts and amounts that are made for tests."
    )
