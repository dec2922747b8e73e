"""Watch the children: say which one died and why, and start it again, not too often."""

import time
from dataclasses import dataclass

from .children import Child, Children, Program
from .starting import last_lines

# Seconds before the next start of a program that dies soon after each start; 0.5 s for one that ran.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
RAN_WELL = 20.0


@dataclass(slots=True)
class Restart:
    """What is known of one role's deaths."""

    started: float
    pause: float = FIRST_PAUSE
    due: float | None = None


class Watch:
    """Asked again and again by the demo's main loop."""

    def __init__(self, children: Children) -> None:
        self._children = children
        now = time.monotonic()
        self._restarts = {child.program.role: Restart(started=now) for child in children.running()}

    def look(self) -> list[str]:
        """Restart what died and is due; returns what there is to say, a sentence each."""
        now = time.monotonic()
        said: list[str] = []
        for child in self._children.running():
            if child.process.poll() is not None:
                said += self._died(child, self._restarts[child.program.role], now)
        return said

    def _died(self, child: Child, restart: Restart, now: float) -> list[str]:
        if restart.due is None:
            if now - restart.started > RAN_WELL:
                restart.pause = FIRST_PAUSE
            restart.due = now + restart.pause
            restart.pause = min(restart.pause * 2, LONGEST_PAUSE)
            return [_obituary(child)]
        if now < restart.due:
            return []
        restart.started, restart.due = now, None
        return [self._again(child.program)]

    def _again(self, program: Program) -> str:
        self._children.end(program.role)  # also the pool that a killed parent left behind
        child = self._children.spawn(program)
        return f"{program.role} was started again (process {child.process.pid})."


def _obituary(child: Child) -> str:
    code = child.process.returncode
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return f"{child.program.role} {how}; the end of {child.program.log}:\n{last_lines(child.said(), count=3)}"
