"""The settings that the demo's processes get: short times, so that a story takes seconds."""

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

# A value that the person's own environment gives wins over these.
SHORT_TIMES = {
    "FULFILMENT_LEASE": "5",
    "FULFILMENT_TOTAL_DEADLINE": "3",
    "FULFILMENT_MARGIN": "1",
    "FULFILMENT_SCHEDULE": "1,1,2,3,5",
    "FULFILMENT_CASE_DEADLINE": "8",
    "FULFILMENT_POLL_INTERVAL": "1",
    "SANDBOX_VISIBLE_AFTER": "0.5",
    "SANDBOX_NOT_FOUND_FINAL_AFTER": "3",
    "WEB_TIMEOUT": "12",
    "IDEMPOTENCY_LEASE": "5",
    "IDEMPOTENCY_DEADLINE": "3",
    "IDEMPOTENCY_MARGIN": "1",
    "IDEMPOTENCY_RECHECK_FIRST": "1",
    "IDEMPOTENCY_RECHECK_LAST": "5",
    "TOKEN_LIFETIME": str(7 * 24 * 60 * 60),
}
# Would change what our own command lines say.
MEDDLING = (
    "GUNICORN_CMD_ARGS",
    "WEB_CONCURRENCY",
    "PYTHONSTARTUP",
    "CELERY_CONFIG_MODULE",
    "PROMETHEUS_MULTIPROC_DIR",
)


@dataclass(frozen=True, slots=True)
class Secrets:
    """Made once per folder, so that tokens outlive a restart of the demo."""

    secret_key: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    sandbox_secret: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    webhook_secret: str = field(default_factory=lambda: "whsec_" + secrets.token_hex(24))
    metrics_token: str = field(default_factory=lambda: secrets.token_urlsafe(24))


def secrets_of(folder: Path) -> Secrets:
    """The folder's secrets; made at the first start, readable by their owner only."""
    path = folder / "secrets.json"
    try:
        return Secrets(**json.loads(path.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        made = Secrets()
        path.touch(mode=0o600)
        path.write_text(json.dumps(asdict(made)))
        return made


def for_processes(urls: Mapping[str, str], keys: Secrets, *, sandbox_url: str) -> dict[str, str]:
    """The whole environment of the web server, worker, beat and commands."""
    inherited = {name: value for name, value in os.environ.items() if name not in MEDDLING}
    return (
        SHORT_TIMES
        | inherited
        | dict(urls)
        | {
            "DJANGO_SETTINGS_MODULE": "ledgerline.settings",
            "SECRET_KEY": keys.secret_key,
            "SANDBOX_URL": sandbox_url,
            "SANDBOX_SECRET": keys.sandbox_secret,
            "SANDBOX_WEBHOOK_SECRET": keys.webhook_secret,
            "METRICS_TOKEN": keys.metrics_token,
            "NO_PROXY": "127.0.0.1,localhost",
            "PYTHONUNBUFFERED": "1",  # a log that is read while it is written
        }
    )
