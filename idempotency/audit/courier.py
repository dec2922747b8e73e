"""Sends what the conversation asks for, within a number of requests and a time that were said before."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from idempotency.audit.messages import Exchange, Request
from idempotency.audit.target import Target
from idempotency.audit.wire import NoAnswer, Wire


@dataclass(slots=True)
class Courier:
    """One audit's connections. Past its bounds it sends nothing and says so in the exchange."""

    target: Target
    requests: int  # how many may still be sent
    timeout: float  # seconds, of one request
    time_limit: float  # seconds, of all of them
    began: float = field(default_factory=time.monotonic)

    def send(self, name: str, request: Request) -> Exchange:
        """One request; whatever goes wrong is in the exchange."""
        return self.send_at_once(name, [request])[0]

    def send_at_once(self, name: str, requests: Sequence[Request]) -> list[Exchange]:
        """Several, each on its own connection, written when all connections stand."""
        left = self.began + self.time_limit - time.monotonic()
        if len(requests) > self.requests or left <= 0:
            why = (
                "the time limit was reached" if left <= 0 else "the number of requests was used up"
            )
            return [Exchange(name, request, None, error=why) for request in requests]
        self.requests -= len(requests)
        gate = threading.Barrier(len(requests))
        with ThreadPoolExecutor(len(requests)) as threads:
            until = time.monotonic() + min(left, self.timeout)
            sent = [threads.submit(self._one, name, request, gate, until) for request in requests]
        return [future.result() for future in sent]

    def pause(self, seconds: float) -> None:
        """Wait as the endpoint asked, but never past the time limit."""
        left = self.began + self.time_limit - time.monotonic()
        time.sleep(max(0.0, min(seconds, left)))

    def _one(self, name: str, request: Request, gate: threading.Barrier, until: float) -> Exchange:
        wire = Wire(self.target, until)
        try:
            wire.connect()
        except NoAnswer as error:
            gate.abort()  # the others go ahead, only not all in one moment
            return self._failed(name, request, time.monotonic(), error)
        _wait(gate, until)
        began = time.monotonic()
        try:
            answer = wire.ask(request)
        except NoAnswer as error:
            return self._failed(name, request, began, error)
        return Exchange(name, request, answer, began - self.began, time.monotonic() - began)

    def _failed(self, name: str, request: Request, began: float, error: NoAnswer) -> Exchange:
        seconds = time.monotonic() - began
        return Exchange(name, request, None, began - self.began, seconds, str(error))


def _wait(gate: threading.Barrier, until: float) -> None:
    try:
        gate.wait(max(0.0, until - time.monotonic()))
    except threading.BrokenBarrierError:
        return
