"""The stories. Each returns a sentence of what it saw, or raises `AssertionError` with the cause."""

import json
import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier
from typing import Any

from ledgerline.demo.check import books
from ledgerline.demo.check.desk import Desk
from ledgerline.demo.check.phone import Phone, Seen, new_key
from ledgerline.demo.check.system import System

BANK = "058"
CALLERS = 50
TRANSFERS = 200
COPIES = 3
CLIENTS = 4


@dataclass(frozen=True, slots=True)
class Story:
    """One line of the report: what is told, and how."""

    name: str
    tell: Callable[[System], str]


def one_tap_from_fifty_callers(system: System) -> str:
    """(a) 50 identical transfers at once: one transfer, one posting, 50 identical final answers."""
    key, body = new_key(), _on_us(system, amount=1234, narration="demo-check a")
    barrier = Barrier(CALLERS)

    def call(_: int) -> tuple[Seen, Seen]:
        phone = _phone(system)
        barrier.wait(timeout=30)
        return phone.send(body, key=key), phone.until_final(body, key=key)

    with ThreadPoolExecutor(CALLERS) as pool:
        pairs = list(pool.map(call, range(CALLERS)))
    finals = {(last.status, last.body) for _, last in pairs}
    assert len(finals) == 1, f"{len(finals)} different final answers for one key"
    status, answer = finals.pop()
    assert status == 201, f"the final answer is {status}: {answer!r}"
    reference = json.loads(answer)["reference"]
    books.one_transfer_one_posting(system, reference)
    fresh = sum(1 for first, _ in pairs if first.status == 201 and not first.replayed)
    assert fresh == 1, (
        f"{fresh} callers were told that theirs was the first: the key was claimed more than once"
    )
    firsts = dict(sorted(Counter(first.status for first, _ in pairs).items()))
    return f"first answers {firsts}, then {CALLERS} x the same 201; 1 transfer, 1 posting"


def a_busy_minute(system: System) -> str:
    """(b) 200 random transfers, 3 copies each from 4 clients: both sides' books agree one to one."""
    dice = random.Random(20260930)  # repeatable, not secret
    wishes = [(new_key(), _random_body(system, dice, number)) for number in range(TRANSFERS)]
    copies = wishes * COPIES
    dice.shuffle(copies)
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda share: _send_all(system, share), _shares(copies, CLIENTS)))
        finals = [
            seen
            for part in pool.map(lambda share: _finish_all(system, share), _shares(wishes, CLIENTS))
            for seen in part
        ]
    statuses = Counter(seen.status for seen in finals)
    assert set(statuses) == {201}, f"not every transfer went through: {dict(statuses)}"
    references = [json.loads(seen.body)["reference"] for seen in finals]
    assert len(set(references)) == TRANSFERS, "two keys share one transfer"
    external = books.match_provider(system, set(references))
    books.balanced(system)
    return f"{len(copies)} requests, {TRANSFERS} transfers, {external} at the provider: one to one; the books balance"


def a_lost_answer(system: System) -> str:
    """(c) The provider books the payment and drops the line: found by look-up, the phone gets 201."""
    key, body = (
        new_key(),
        _external(
            system, amount=4321, narration=f"demo-check c {new_key()[:8]} sandbox:accept_then_reset"
        ),
    )
    phone, started = _phone(system), time.monotonic()
    first = phone.send(body, key=key)
    assert first.status == 202, (
        f"an external transfer answers 202 first, not {first.status}: {first.body!r}"
    )
    final = phone.until_final(body, key=key)
    assert final.status == 201, f"the retry got {final.status}: {final.body!r}"
    reference = json.loads(final.body)["reference"]
    books.paid_once(system, reference)
    sources = books.said(system, reference)
    assert ("lookup", "done") in sources, f"it was not found by a look-up; what was said: {sources}"
    return f"202, answer lost, found by look-up, 201 after {time.monotonic() - started:.1f} s; paid once"


def a_case_for_a_person(system: System) -> str:
    """(d) The look-up is out too: a case opens, staff resolve it in the admin, the phone gets it."""
    mark = f"demo-check d {new_key()[:8]}"
    key, body = (
        new_key(),
        _external(system, amount=999, narration=f"{mark} sandbox:accept_then_reset"),
    )
    system.set_fault(fault="lookup_outage", times=None, match={"narration": mark})
    try:
        phone = _phone(system)
        first = phone.send(body, key=key)
        assert first.status == 202, (
            f"an external transfer answers 202 first, not {first.status}: {first.body!r}"
        )
        reference = _reference_at(phone, first)
        case = books.wait_for_case(system, reference)
        desk = Desk(system.base_url)
        desk.sign_in("senior", system.staff["senior"]["password"])
        desk.resolve(
            case["fulfilment_id"], verdict="fulfilled", evidence_reference="bank statement 0042/7"
        )
    finally:
        system.clear_faults()
    final = phone.until_final(body, key=key)
    assert final.status == 201, f"the retry got {final.status}: {final.body!r}"
    books.paid_once(system, reference)
    actor = books.last_actor(system, reference)
    assert actor == "staff:senior", (
        f"the verdict is on record as {actor}, not as the person who gave it"
    )
    return f"no answer, no look-up: case ({case['reason']}), resolved by {actor} in the admin, phone got 201; paid once"


STORIES = (
    Story("a  one tap, 50 callers", one_tap_from_fifty_callers),
    Story("b  a busy minute", a_busy_minute),
    Story("c  a lost answer", a_lost_answer),
    Story("d  a case for a person", a_case_for_a_person),
)


def _phone(system: System) -> Phone:
    return Phone(system.base_url, system.users["ada"]["token"])


def _on_us(system: System, *, amount: int, narration: str) -> dict[str, Any]:
    return {
        "toAccount": system.users["bola"]["account"],
        "amount": amount,
        "currency": "NGN",
        "narration": narration,
    }


def _external(system: System, *, amount: int, narration: str) -> dict[str, Any]:
    return _on_us(system, amount=amount, narration=narration) | {"toBank": BANK}


def _random_body(system: System, dice: random.Random, number: int) -> dict[str, Any]:
    shape = dice.choice((_on_us, _external))
    return shape(system, amount=dice.randint(1, 5000), narration=f"demo-check b {number}")


def _shares(things: list[Any], count: int) -> list[list[Any]]:
    return [things[offset::count] for offset in range(count)]


def _send_all(system: System, share: list[tuple[str, dict[str, Any]]]) -> None:
    dice, phone = random.Random(len(share)), _phone(system)  # repeatable, not secret
    for key, body in share:
        time.sleep(dice.uniform(0, 0.01))
        seen = phone.send(body, key=key)
        assert seen.status in (201, 202, 409), f"{seen.status}: {seen.body!r}"


def _finish_all(system: System, share: list[tuple[str, dict[str, Any]]]) -> list[Seen]:
    phone = _phone(system)
    return [phone.until_final(body, key=key) for key, body in share]


def _reference_at(phone: Phone, first: Seen) -> str:
    assert first.location, "a 202 names its resource in Location"
    return str(phone.get(first.location)["reference"])
