"""Many wishes from a few clients: sent in copies, and followed to their final answers."""

import random
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ledgerline.demo.check import taps
from ledgerline.demo.check.phone import Seen
from ledgerline.demo.check.system import System

CLIENTS = 4


@dataclass(frozen=True, slots=True)
class Wish:
    """One intent of the customer: a key, and the body that is sent with it every time."""

    key: str
    body: dict[str, Any]


def sending(
    system: System, wishes: Sequence[Wish], *, pool: ThreadPoolExecutor
) -> list[Future[None]]:
    """Begin to send every wish once, at random moments; `result()` of each tells how it went."""
    return [pool.submit(_send, system, share) for share in _shares(wishes)]


def finals(system: System, wishes: Sequence[Wish], *, pool: ThreadPoolExecutor) -> list[Seen]:
    """The final answer to each wish, in their order."""
    parts = pool.map(lambda share: _finish(system, share), _shares(wishes))
    seen = {key: answer for part in parts for key, answer in part.items()}
    return [seen[wish.key] for wish in wishes]


def _send(system: System, share: Sequence[Wish]) -> None:
    dice = random.Random(len(share))
    with taps.phone(system) as phone:
        for wish in share:
            time.sleep(dice.uniform(0, 0.01))
            seen = phone.send(wish.body, key=wish.key)
            assert seen.status in (201, 202, 409), f"{seen.status}: {seen.body!r}"


def _finish(system: System, share: Sequence[Wish]) -> dict[str, Seen]:
    with taps.phone(system) as phone:
        return {wish.key: phone.until_final(wish.body, key=wish.key) for wish in share}


def _shares(wishes: Sequence[Wish]) -> list[Sequence[Wish]]:
    return [wishes[offset::CLIENTS] for offset in range(CLIENTS)]
