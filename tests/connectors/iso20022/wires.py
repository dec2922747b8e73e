"""faulty between us and the bank: a proxy that others wrote, on a thread with a loop of its own.

What becomes of the bytes is changed while it runs; what it was given is kept, whatever became of it.
"""

import asyncio
import re
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from faulty.core import FaultyProxy
from faulty.middlewares import BaseMiddleware, DropMiddleware, LatencyMiddleware

from tests.connectors.iso20022.bank import free_port


class Keeper(BaseMiddleware):
    """Lets everything through, and keeps a copy."""

    def __init__(self) -> None:
        self.seen = bytearray()

    async def process(self, chunk: bytes) -> AsyncGenerator[bytes, None]:
        self.seen += chunk
        yield chunk


class Wire:
    """Between one port of ours and the bank's."""

    def __init__(self, bank_port: int) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._keeper = Keeper()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._proxy = FaultyProxy("127.0.0.1", port, "127.0.0.1", bank_port)
        self._do(self._proxy.__aenter__)
        self.heal()

    def heal(self) -> None:
        """From now on everything goes through as it is."""
        self._rules()

    def lose_answers(self) -> None:
        """The bank hears us, and we do not hear the bank."""
        self._rules(ingress=DropMiddleware(1.0))

    def lose_requests(self) -> None:
        """Connections stand, and nothing that we say arrives."""
        self._rules(egress=DropMiddleware(1.0))

    def slow_answers(self, seconds: float) -> None:
        self._rules(ingress=LatencyMiddleware(seconds * 1000))

    def slow_requests(self, seconds: float) -> None:
        """What is on its way when this ends still takes its time."""
        self._rules(egress=LatencyMiddleware(seconds * 1000))

    def posted(self, reference: str) -> int:
        """In how many of the files that we handed in the message is called so."""
        return self._named("MsgId").count(reference)

    def ids(self) -> dict[str, list[str]]:
        """What our files said, oldest first, whether they arrived or not."""
        names = ("MsgId", "PmtInfId", "EndToEndId", "CreDtTm")
        return {name: self._named(name) for name in names}

    def close(self) -> None:
        self._do(self._end)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()

    def _named(self, element: str) -> list[str]:
        found = re.findall(rf"<{element}>([^<]+)</{element}>".encode(), bytes(self._keeper.seen))
        return [value.decode() for value in found]

    def _rules(
        self, *, ingress: BaseMiddleware | None = None, egress: BaseMiddleware | None = None
    ) -> None:
        async def change() -> None:
            self._proxy.clear_all_rules()
            self._proxy.add_egress_rule(self._keeper)
            if ingress is not None:
                self._proxy.add_ingress_rule(ingress)
            if egress is not None:
                self._proxy.add_egress_rule(egress)

        self._do(change)

    def _do(self, work: Callable[[], Any]) -> None:
        asyncio.run_coroutine_threadsafe(work(), self._loop).result(timeout=10)

    async def _end(self) -> None:
        await self._proxy.stop()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


@contextmanager
def to(bank_port: int) -> Iterator[Wire]:
    wire = Wire(bank_port)
    try:
        yield wire
    finally:
        wire.close()
