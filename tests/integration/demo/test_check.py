"""The demo's check looks at processes that may be dead a moment later."""

import os
import socket
import subprocess
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from ledgerline.demo.check import stalls


def test_a_killed_process_that_nobody_has_collected_hides_no_living_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def denied(*_: Any, **__: Any) -> list[Any]:  # what an ordinary user is told; root is told []
        raise psutil.AccessDenied(dead.pid)

    child = subprocess.Popen(["sleep", "60"])
    dead = psutil.Process(child.pid)
    child.kill()
    monkeypatch.setattr(dead, "net_connections", denied)
    system: Any = SimpleNamespace(processes=lambda role: [dead, psutil.Process()])
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            found = stalls.process_at(system, "worker", port=server.getsockname()[1])
    finally:
        child.wait(timeout=10)
    assert found.pid == os.getpid(), "the living process was not found behind the dead one"
