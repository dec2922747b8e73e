"""What dies is named and started again, not too often; what Ctrl-C hits is never lost."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ledgerline.demo import interrupts
from ledgerline.demo.children import Children, Program
from ledgerline.demo.watch import Watch

pytestmark = pytest.mark.processes


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    children = Children(tmp_path / "children.json")
    yield children
    children.end_all()


def _program(tmp_path: Path, script: str) -> Program:
    return Program(
        role="web",
        command=("/bin/sh", "-c", script),
        cwd=tmp_path,
        log=tmp_path / "web.log",
        env={"PATH": os.defpath},
    )


def _until(watch: Watch, text: str) -> str:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for line in watch.look():
            if text in line:
                return line
        time.sleep(0.02)
    pytest.fail(f"nobody said {text!r} within 10 s")


def test_a_death_is_told_with_its_last_words_and_repaired(
    children: Children, tmp_path: Path
) -> None:
    child = children.spawn(_program(tmp_path, "echo out of paper; exec sleep 60"))
    _wait_for(lambda: "paper" in child.said())
    looking = Watch(children)
    child.process.kill()
    assert "out of paper" in _until(looking, "web was ended by signal 9")
    _until(looking, "web was started again")
    (pid,) = children.pids()["web"]
    assert pid != child.process.pid
    assert psutil.pid_exists(pid)


def test_what_dies_at_once_each_time_is_started_ever_more_rarely(
    children: Children, tmp_path: Path
) -> None:
    children.spawn(_program(tmp_path, "exit 3"))
    looking = Watch(children)
    times = []
    for _ in range(3):
        _until(looking, "web ended with exit code 3")
        _until(looking, "web was started again")
        times.append(time.monotonic())
    first, second = times[1] - times[0], times[2] - times[1]
    assert second > 1.5 * first, f"pauses do not grow: {first:.2f} s, then {second:.2f} s"


def test_a_restart_ends_what_the_dead_left_in_its_group(children: Children, tmp_path: Path) -> None:
    child = children.spawn(_program(tmp_path, "sleep 61 & echo $!; exec sleep 60"))
    _wait_for(lambda: child.said().strip().isdigit())
    straggler = int(child.said())
    child.process.kill()
    child.process.wait()
    children.end("web")
    _wait_for(lambda: not _runs(straggler))


def test_a_frozen_child_is_ended_too(children: Children, tmp_path: Path) -> None:
    child = children.spawn(_program(tmp_path, "exec sleep 60"))
    os.kill(child.process.pid, signal.SIGSTOP)
    started = time.monotonic()
    children.end("web")
    assert not psutil.pid_exists(child.process.pid)
    assert time.monotonic() - started < 5, "it had to be killed: SIGCONT was not sent"


def test_a_stranger_with_a_remembered_process_id_is_left_alone(
    children: Children, tmp_path: Path
) -> None:
    child = children.spawn(_program(tmp_path, "exec sleep 60"))
    record = tmp_path / "children.json"
    record.write_text(record.read_text().replace('"started": ', '"started": 1'))
    assert Children(record).end_leftovers() == []
    assert child.process.poll() is None, "a process that is not ours was ended"


def test_ctrl_c_between_start_and_record_waits_for_the_record() -> None:
    before = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
    recorded: list[str] = []
    interrupts.raise_stopped()
    try:
        with pytest.raises(interrupts.Stopped):
            _struck_while_held(recorded)
        os.kill(os.getpid(), signal.SIGINT)  # the second one must not cut the clean-up
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert recorded, "the signal struck before the process was on record"


def _struck_while_held(recorded: list[str]) -> None:
    with interrupts.held():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.05)
        recorded.append("child")


def _wait_for(question) -> None:
    deadline = time.monotonic() + 10
    while not question():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
