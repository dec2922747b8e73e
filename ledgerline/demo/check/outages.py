"""Cache and broker lose everything in the middle of it: nothing lost, nothing twice."""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import psutil  # type: ignore[import-untyped]
import redis

from ledgerline.demo.check import books, taps, wishes
from ledgerline.demo.check.phone import new_key
from ledgerline.demo.check.stalls import wait_for
from ledgerline.demo.check.system import System
from ledgerline.demo.check.wishes import Wish

TRANSFERS = 60
COPIES = 2


def valkey_flushed_and_restarted(system: System) -> str:
    """Both Valkeys are flushed and killed while transfers run; the replays stay the same."""
    dice = random.Random(20260931)  # repeatable
    asked = [Wish(new_key(), _body(system, dice, number)) for number in range(TRANSFERS)]
    with ThreadPoolExecutor(wishes.CLIENTS) as pool:
        under_way = wishes.sending(system, asked * COPIES, pool=pool)
        _flush_and_kill(system)
        for part in under_way:
            part.result()
        finals = [taps.paid(seen) for seen in wishes.finals(system, asked, pool=pool)]
        again = wishes.finals(system, asked, pool=pool)
    assert [f.body for f in finals] == [f.body for f in again], "a replay differs from its answer"
    references = {json.loads(seen.body)["reference"] for seen in finals}
    paid = books.match_provider(system, references)
    assert paid == TRANSFERS, f"{paid} of {TRANSFERS} transfers are at the provider"
    books.balanced(system)
    return (
        f"{TRANSFERS} transfers while both were flushed, killed and started again: paid once each"
    )


def _body(system: System, dice: random.Random, number: int) -> dict[str, object]:
    amount = dice.randint(1, 5000)
    return taps.external(system, amount=amount, narration=f"demo-check h {number}")


def _flush_and_kill(system: System) -> None:
    for role, url in (("cache", system.redis_url), ("broker", system.broker_url)):
        with redis.Redis.from_url(url) as server:
            server.flushall()
        if mine := system.processes(role):  # a server that was given is flushed, not killed
            mine[0].kill()
        wait_for(partial(_answers, url), f"nobody started the {role} again")


def _answers(url: str) -> bool:
    with suppress(redis.RedisError, psutil.NoSuchProcess), redis.Redis.from_url(url) as server:
        return bool(server.ping())
    return False
