"""What the demo tells: `demo.json` for programs, the welcome for people."""

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .environment import Secrets


@dataclass(frozen=True, slots=True)
class Facts:
    """What does not change while the demo runs; process ids do."""

    base_url: str
    sandbox_url: str
    urls: Mapping[str, str]
    users: Mapping[str, Mapping[str, str]]
    staff: Mapping[str, Mapping[str, str]]
    keys: Secrets


def write(folder: Path, facts: Facts, pids: Mapping[str, list[int]]) -> None:
    """Write `demo.json`, whole or not at all, readable by its owner only: it holds passwords."""
    new = folder / "demo.json.new"
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(_members(facts, pids), file, indent=2)
    new.replace(folder / "demo.json")


def remove(folder: Path) -> None:
    """No `demo.json`: no demo runs from this folder."""
    (folder / "demo.json").unlink(missing_ok=True)


def welcome(facts: Facts, folder: Path) -> str:
    """Where everything is, and three command lines to try."""
    on_us = _curl(facts, amount=5_000)
    external = _curl(facts, amount=7_500, bank="058")
    staff = "\n".join(
        f"    {name:<7} password {entry['password']}" for name, entry in facts.staff.items()
    )
    return f"""
Ledgerline runs at {facts.base_url}

  Admin     {facts.base_url}/admin/
{staff}
  Provider  {facts.sandbox_url}/books (its own books: what was really paid)
  Metrics   {facts.base_url}/metrics (with the bearer `metrics_token` of demo.json)
  Logs      {folder}/*.log        Facts for programs: {folder}/demo.json

1. Pay an account of this bank: 201, once.
{on_us}

2. The same request again, as a phone on a bad network sends it: the same bytes, `Idempotent-Replayed: true`.
{on_us}

3. Pay an account of another bank: 202; send it again a second later and it is the final 201.
{external}

`make demo-check` in another terminal tries it hard. Ctrl-C ends everything here.
"""


def _members(facts: Facts, pids: Mapping[str, list[int]]) -> dict[str, Any]:
    return {
        "base_url": facts.base_url,
        "sandbox_url": facts.sandbox_url,
        "database_url": facts.urls["DATABASE_URL"],
        "redis_url": facts.urls["REDIS_URL"],
        "broker_url": facts.urls["CELERY_BROKER_URL"],
        "users": facts.users,
        "staff": facts.staff,
        "pids": pids,
        "webhook_secret": facts.keys.webhook_secret,
        "metrics_token": facts.keys.metrics_token,
    }


def _curl(facts: Facts, *, amount: int, bank: str | None = None) -> str:
    payer, payee = list(facts.users.values())[:2]
    order: dict[str, Any] = {"toAccount": payee["account"], "amount": amount, "currency": "NGN"}
    body = json.dumps(order | ({"toBank": bank} if bank else {}), separators=(",", ":"))
    return (
        f"curl -si {facts.base_url}/v1/transfers -H 'Content-Type: application/json'"
        f" -H 'Idempotency-Key: {uuid.uuid4()}' -H 'Authorization: Bearer {payer['token']}' -d '{body}'"
    )
