"""`manage.py demo` as a person meets it: one sentence when it cannot, nothing left when it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from ledgerline.demo import lock
from ledgerline.demo.ports import free_port

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]

ROOT = Path(__file__).resolve().parents[3]
MARK = "LEDGERLINE_TEST_OF_THE_DEMO"


def _demo(folder: Path, **given: str) -> subprocess.Popen[str]:
    """Marked by an environment variable that all its descendants inherit."""
    return subprocess.Popen(
        [sys.executable, "manage.py", "demo", "--folder", str(folder), "--port", "0"],
        cwd=ROOT,
        env=os.environ | {MARK: str(folder)} | given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _said_and_code(demo: subprocess.Popen[str]) -> tuple[str, int]:
    said, _ = demo.communicate(timeout=60)
    return said, demo.returncode


def _left(folder: Path) -> list[str]:
    return [
        " ".join(process.info["cmdline"] or [])
        for process in psutil.process_iter(["cmdline", "environ"])
        if (process.info["environ"] or {}).get(MARK) == str(folder)
        or str(folder) in " ".join(process.info["cmdline"] or [])
    ]


def _facts(folder: Path, demo: subprocess.Popen[str], fits: Callable[[Any], bool]) -> Any:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and demo.poll() is None:
        try:
            facts = json.loads((folder / "demo.json").read_text())
        except FileNotFoundError:
            facts = None
        if facts and fits(facts):
            return facts
        time.sleep(0.1)
    demo.kill()
    pytest.fail(f"demo.json did not come or change:\n{demo.communicate()[0][-3000:]}")


def test_a_second_demo_in_one_folder_says_so_and_ends(tmp_path: Path) -> None:
    with lock.held(tmp_path):
        said, code = _said_and_code(_demo(tmp_path))
    assert code == 2
    assert f"A demo already runs from {tmp_path} (process {os.getpid()})." in said
    assert said.count("\n") == 1, f"more than one sentence: {said}"


def test_a_lock_of_a_demo_that_was_killed_holds_nobody(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("1")
    with lock.held(tmp_path):
        assert (tmp_path / "lock").read_text() == str(os.getpid())


@pytest.mark.parametrize("name", ["DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL"])
def test_a_given_server_that_cannot_be_reached_is_one_sentence(tmp_path: Path, name: str) -> None:
    scheme = "postgresql" if name == "DATABASE_URL" else "redis"
    demo = _demo(tmp_path, **{name: f"{scheme}://127.0.0.1:{free_port()}/0"})
    said, code = _said_and_code(demo)
    assert code == 2
    assert said.startswith(f"{name} is given, but"), said
    assert said.count("\n") == 1, f"more than one sentence: {said}"
    assert _left(tmp_path) == []


def test_a_demo_starts_repairs_itself_and_leaves_nothing(tmp_path: Path) -> None:
    demo = _demo(tmp_path)
    facts = _facts(tmp_path, demo, lambda _: True)
    assert (tmp_path / "demo.json").stat().st_mode & 0o777 == 0o600
    assert facts["users"]["bola"]["account"] == "0123456789"
    assert set(facts["staff"]) == {"agent", "senior", "lead"}
    old = facts["pids"]["worker"][0]
    os.kill(old, signal.SIGKILL)
    _facts(tmp_path, demo, lambda now: now["pids"]["worker"][0] != old)
    demo.send_signal(signal.SIGTERM)
    said, code = _said_and_code(demo)
    assert code == 0, said
    assert "worker was ended by signal 9" in said
    assert said.count("curl ") == 3
    assert _left(tmp_path) == []
    assert not (tmp_path / "demo.json").exists()
