"""Connectors that take their worker with them, each to the sandbox provider."""

import os
import signal

from fulfilment.connectors.base import Instruction, Outcome
from fulfilment.connectors.sandbox import SandboxConnector


class KillsInTheCall(SandboxConnector):
    """Some orders are more than a worker can bear: it dies behind the mark."""

    def send(self, instruction: Instruction, /) -> Outcome:
        """Never returns for those."""
        if instruction.instruction["narration"] == "kills":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().send(instruction)
