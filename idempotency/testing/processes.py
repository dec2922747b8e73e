"""Real processes that die or freeze at a named point, as `kill -9` and SIGSTOP do it."""

import base64
import json
import os
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final, NoReturn

from django.db import connections

from idempotency.checkpoints import POINTS
from idempotency.testing.answers import Told, told

_PATIENCE = 30.0  # seconds
_LOOK_EVERY = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """The points of one app, and how a process is told to die or stop at one."""

    points: tuple[str, ...]
    variables: str  # how the names of its variables begin: {variables}_KILL_AT and _STOP_AT
    passed_by: str  # who passes which, for whoever waits in vain


OURS: Final = Checkpoints(
    points=POINTS,
    variables="IDEMPOTENCY",
    passed_by=(
        "Points of leased mode are passed by leased views that call sending() and settling(), "
        "atomic.* by atomic ones, gate.* by gated actions."
    ),
)


@dataclass(slots=True)
class Frozen:
    """A process that stands still inside its request; its answer is there once it has woken up."""

    pid: int
    answer: Told | None = None


def killed_at(point: str, call: Callable[[], Any], *, among: Checkpoints = OURS) -> None:
    """Run `call` in a child process that gets SIGKILL at `point` (one of POINTS).

    The child is a fork: it sees the test's settings and committed rows, and opens connections of its
    own. What it did up to the point is in the database; nothing after it. Raises AssertionError if
    it ended without passing the point, with what it said.
    """
    pid, said = _forked(call, "KILL_AT", point, among)
    status = _waited(pid, point)
    end = _read(said)
    if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
        raise AssertionError(_missed(point, end, among))


@contextmanager
def frozen_at(
    point: str, call: Callable[[], Any], *, among: Checkpoints = OURS
) -> Iterator[Frozen]:
    """Run `call` in a child process that stands still at `point` while the block runs.

    It is woken up at the end of the block, as a process that hung past its lease; then `answer` of
    what was yielded says what it told its client.
    """
    pid, said = _forked(call, "STOP_AT", point, among)
    status = _waited(pid, point, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        raise AssertionError(_missed(point, _read(said), among))
    frozen = Frozen(pid)
    try:
        yield frozen
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        _waited(pid, point)
        said.close()
        raise
    os.kill(pid, signal.SIGCONT)
    _waited(pid, point)
    frozen.answer = _answer(point, _read(said))


def _forked(
    call: Callable[[], Any], how: str, point: str, among: Checkpoints
) -> tuple[int, IO[str]]:
    if point not in among.points:
        raise ValueError(f"There is no point {point!r}; there are {', '.join(among.points)}.")
    if any(connections[alias].in_atomic_block for alias in connections):
        raise AssertionError(
            "this test runs in a transaction, so another process sees nothing of it: use "
            "TransactionTestCase or @pytest.mark.django_db(transaction=True)"
        )
    connections.close_all()  # a connection that two processes share would serve neither
    said = tempfile.TemporaryFile("w+")  # noqa: SIM115  a pipe would be full before it is read
    with warnings.catch_warnings():
        # Other threads of the test do not exist in the child, which runs this one call and ends.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os.environ[f"{among.variables}_{how}"] = point
        _run(call, said)
    return pid, said


def _run(call: Callable[[], Any], out: IO[str]) -> NoReturn:
    """In the child: nothing of the test's own clean-up may run here."""
    try:
        end = _packed(call())
    except BaseException:  # noqa: BLE001  it is told to the parent
        end = {"raised": traceback.format_exc()}
    try:
        json.dump(end, out)
        out.flush()
    finally:
        os._exit(0)


def _packed(answer: Any) -> dict[str, Any]:
    if not hasattr(answer, "status_code"):
        return {"returned": repr(answer)}
    seen = told(answer)
    body = base64.b64encode(seen.body).decode()
    return {"status": seen.status, "headers": dict(seen.headers), "body": body}


def _waited(pid: int, point: str, options: int = 0) -> int:
    deadline = time.monotonic() + _PATIENCE
    while True:
        found, status = os.waitpid(pid, options | os.WNOHANG)
        if found:
            return status
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError(f"after {_PATIENCE:g} s it neither ended nor got to {point}")
        time.sleep(_LOOK_EVERY)


def _read(said: IO[str]) -> dict[str, Any]:
    with said:
        said.seek(0)
        found: dict[str, Any] = json.loads(said.read() or "{}")
    return found


def _answer(point: str, said: dict[str, Any]) -> Told | None:
    if "raised" in said:
        raise AssertionError(f"woken up after {point} it raised:\n{said['raised']}")
    if "status" not in said:
        return None
    return Told(said["status"], said["headers"], base64.b64decode(said["body"]))


def _missed(point: str, said: dict[str, Any], among: Checkpoints) -> str:
    if "raised" in said:
        return f"it raised before it got to {point}:\n{said['raised']}"
    what = f"answered {_answer(point, said)}" if "status" in said else f"said {said}"
    return f"it ended without passing {point}; it {what}. {among.passed_by}"
