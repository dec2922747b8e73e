"""A process that no command of manage.py starts refuses bad settings too, with one sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

ROOT = Path(__file__).resolve().parents[3]
CELERY = ["-m", "celery", "--app", "ledgerline"]
STARTS = {
    "web": [
        "-m",
        "gunicorn",
        "-c",
        "python:ledgerline.gunicorn",
        "-b",
        "127.0.0.1:0",
        "ledgerline.wsgi",
    ],
    "worker": [*CELERY, "worker", "--pool", "solo", "--concurrency", "1"],
    "beat": [*CELERY, "beat", "--schedule", "{folder}/beat"],
}


def start(role: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Start a real process and wait for its end."""
    return subprocess.run(
        [sys.executable, *(word.format(folder=folder) for word in STARTS[role])],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("role", STARTS)
@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("FULFILMENT_LEASE", "1", "must be longer than TOTAL_DEADLINE + MARGIN"),
        pytest.param(
            "LOCK_TIMEOUT",
            "60",
            "must be longer than LOCK_TIMEOUT (60 s). Raise STATEMENT_TIMEOUT",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_process_does_not_start_with_settings_that_a_check_refuses(
    role: str, name: str, value: str, says: str, tmp_path: Path
) -> None:
    ended = start(role, tmp_path, **{name: value})
    said = " ".join(ended.stderr.split())
    assert ended.returncode not in (0, None), f"the {role} started"
    assert says in said, ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_setting_that_cannot_be_ends_the_web_server_with_one_sentence(tmp_path: Path) -> None:
    ended = start("web", tmp_path, DATABASE_URL="mysql://x")
    assert ended.returncode != 0
    assert "DATABASE_URL must be a postgresql:// URL" in ended.stderr
    assert "Traceback" not in ended.stderr
