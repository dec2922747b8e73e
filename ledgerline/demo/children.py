"""Child processes: started, remembered on disk, and ended by their process id.

The file survives a `kill -9` of the parent, so that the next start can end what was left running.
A process id alone may have been given to a stranger since; with its start time it is exact.
"""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from . import interrupts
from .accounts import Account


@dataclass(frozen=True, slots=True)
class Program:
    """How to start one child, as often as it takes."""

    role: str
    command: tuple[str, ...]
    cwd: Path
    log: Path
    env: Mapping[str, str] = field(repr=False)
    account: Account | None = None
    keep_open: tuple[int, ...] = ()
    has_pool: bool = False  # its own children do the work
    stop_signal: signal.Signals = signal.SIGTERM
    patience: float = 10.0  # seconds between the stop signal and SIGKILL


@dataclass(frozen=True, slots=True)
class Child:
    """One running (or ended) start of a program."""

    program: Program
    process: subprocess.Popen[bytes]
    log_start: int

    def said(self) -> str:
        """What this start wrote to its log so far."""
        with self.program.log.open("rb") as log:
            log.seek(self.log_start)
            return log.read().decode(errors="replace")


class Children:
    """The children of one parent, by role, in the order in which they were started."""

    def __init__(self, record: Path) -> None:
        self._record = record
        self._children: dict[str, Child] = {}

    def spawn(self, program: Program) -> Child:
        """Start the program, in a process group of its own, with its output in its log."""
        with interrupts.held():
            child = _started(program)
            self._children[program.role] = child
            self._remember()
        return child

    def end(self, role: str) -> None:
        """End one child and whatever it left in its process group; no error if it is gone."""
        child = self._children.pop(role)
        if child.process.poll() is None:
            _stop(child.process.pid, child.program.stop_signal, patience=child.program.patience)
            child.process.wait()
        _kill_group(child.process.pid)
        self._remember()

    def end_all(self) -> None:
        """End every child, the last one started first."""
        for role in reversed(list(self._children)):
            self.end(role)

    def running(self) -> list[Child]:
        """Every child that was started and not ended by us, dead or alive."""
        return list(self._children.values())

    def pids(self) -> dict[str, list[int]]:
        """Role → the process id, then, where they do the work, those of its own children."""
        return {role: _family(child) for role, child in self._children.items()}

    def end_leftovers(self) -> list[str]:
        """End what an earlier parent that was killed left running; returns their roles."""
        left = [entry for entry in _remembered(self._record) if _is_same(entry)]
        for entry in reversed(left):
            end(int(entry["pid"]), signal.Signals(int(entry["stop_signal"])), patience=10.0)
        self._record.unlink(missing_ok=True)
        return [str(entry["role"]) for entry in left]

    def _remember(self) -> None:
        entries = [_entry(child) for child in self._children.values()]
        new = self._record.with_suffix(".new")
        new.write_text(json.dumps(entries))
        new.replace(self._record)


Entry = Mapping[str, str | int | float]


def _started(program: Program) -> Child:
    who = program.account
    with program.log.open("ab") as log:
        start = log.tell()
        process = subprocess.Popen(
            program.command,
            cwd=program.cwd,
            env=dict(program.env),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            user=who.uid if who else None,
            group=who.gid if who else None,
            extra_groups=[] if who else None,
            pass_fds=program.keep_open,
            umask=0o077,
            start_new_session=True,  # a Ctrl-C in the terminal reaches the parent alone, which ends all in order
        )
    return Child(program, process, start)


def _entry(child: Child) -> Entry:
    try:
        started = psutil.Process(child.process.pid).create_time()
    except psutil.NoSuchProcess:
        started = 0.0
    program = child.program
    return {
        "role": program.role,
        "pid": child.process.pid,
        "started": started,
        "stop_signal": int(program.stop_signal),
    }


def _remembered(record: Path) -> list[Entry]:
    try:
        entries: list[Entry] = json.loads(record.read_text())
    except (FileNotFoundError, ValueError):  # none, or cut short by the kill
        return []
    return entries


def _is_same(entry: Entry) -> bool:
    try:
        started = psutil.Process(int(entry["pid"])).create_time()
    except psutil.NoSuchProcess:
        return False
    return abs(float(started) - float(entry["started"])) < 0.05


def _family(child: Child) -> list[int]:
    pid = child.process.pid
    if not child.program.has_pool:
        return [pid]
    try:
        return [pid, *(process.pid for process in psutil.Process(pid).children())]
    except psutil.NoSuchProcess:
        return [pid]


def end(pid: int, stop_signal: signal.Signals, *, patience: float) -> None:
    """Ask a process to stop, kill it after `patience` seconds, then what is left of its group."""
    _stop(pid, stop_signal, patience=patience)
    _kill_group(pid)


def _stop(pid: int, stop_signal: signal.Signals, *, patience: float) -> None:
    try:
        process = psutil.Process(pid)
        process.send_signal(stop_signal)
        process.send_signal(signal.SIGCONT)  # a frozen process would not hear the first signal
        process.wait(timeout=patience)
    except psutil.NoSuchProcess:
        pass
    except psutil.TimeoutExpired:
        process.kill()


def _kill_group(pid: int) -> None:
    """The pool workers of a killed parent, for one. macOS refuses for a group of zombies."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
