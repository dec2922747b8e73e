"""Many callers at once: one tap fifty times, and a busy minute."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from ledgerline.demo.check import books, taps, wishes
from ledgerline.demo.check.phone import Seen, new_key
from ledgerline.demo.check.system import System
from ledgerline.demo.check.wishes import Wish

CALLERS = 50
TRANSFERS = 200
COPIES = 3


def one_tap_from_fifty_callers(system: System) -> str:
    """50 identical transfers at once: one transfer, one posting, 50 identical final answers."""
    pairs = _all_at_once(system, taps.on_us(system, amount=1234, narration="demo-check a"))
    finals = {(last.status, last.body) for _, last in pairs}
    assert len(finals) == 1, f"{len(finals)} different final answers for one key"
    status, answer = finals.pop()
    assert status == 201, f"the final answer is {status}: {answer!r}"
    books.one_transfer_one_posting(system, json.loads(answer)["reference"])
    fresh = sum(first.status == 201 and not first.replayed for first, _ in pairs)
    assert fresh == 1, f"{fresh} callers heard that theirs was the first: the key was claimed twice"
    firsts = dict(sorted(Counter(first.status for first, _ in pairs).items()))
    return f"first answers {firsts}, then {CALLERS} x the same 201; 1 transfer, 1 posting"


def a_busy_minute(system: System) -> str:
    """200 random transfers, 3 copies each from 4 clients: both sides' books agree one to one."""
    dice = random.Random(20260930)  # repeatable
    asked = [Wish(new_key(), _random_body(system, dice, number)) for number in range(TRANSFERS)]
    copies = asked * COPIES
    dice.shuffle(copies)
    with ThreadPoolExecutor(wishes.CLIENTS) as pool:
        for part in wishes.sending(system, copies, pool=pool):
            part.result()
        finals = [wishes.finals(system, asked, pool=pool) for _ in range(COPIES)]
    references = {json.loads(_one_answer(seen))["reference"] for seen in zip(*finals, strict=True)}
    assert len(references) == TRANSFERS, "two keys share one transfer"
    external = books.match_provider(system, references)
    wanted = sum("toBank" in wish.body for wish in asked)
    assert external == wanted, f"{external} external transfers of {wanted} that were asked for"
    books.balanced(system)
    sent = f"{len(copies)} requests, {TRANSFERS} transfers"
    return f"{sent}, {external} at the provider: one to one; the books balance"


def _all_at_once(system: System, body: dict[str, Any]) -> list[tuple[Seen, Seen]]:
    """Every caller's first and final answer."""
    key, barrier = new_key(), Barrier(CALLERS)

    def call(_: int) -> tuple[Seen, Seen]:
        with taps.phone(system) as phone:
            barrier.wait(timeout=30)
            return phone.send(body, key=key), phone.until_final(body, key=key)

    with ThreadPoolExecutor(CALLERS) as pool:
        return list(pool.map(call, range(CALLERS)))


def _one_answer(copies: Sequence[Seen]) -> bytes:
    """The bytes that every copy of one wish ended with."""
    bodies = {taps.paid(seen).body for seen in copies}
    assert len(bodies) == 1, f"copies of one request got different final answers: {bodies}"
    return bodies.pop()


def _random_body(system: System, dice: random.Random, number: int) -> dict[str, Any]:
    shape = dice.choice((taps.on_us, taps.external))
    return shape(system, amount=dice.randint(1, 5000), narration=f"demo-check b {number}")
