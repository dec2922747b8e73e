"""The metrics of a running service: several web processes, one sum."""

import re
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from ledgerline.demo.check import taps
from ledgerline.demo.check.phone import new_key
from ledgerline.demo.check.system import System
from tests.acceptance.conftest import Demo

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]

REQUESTS = 40


def scrape(demo: Demo, token: str | None = None) -> httpx2.Response:
    facts = demo.facts
    with httpx2.Client(timeout=20) as client:
        return client.get(
            f"{facts['base_url']}/metrics",
            headers={"Authorization": f"Bearer {token or facts['metrics_token']}"},
        )


def settled(demo: Demo) -> int:
    """Transfers that the service says it has carried out, over all its processes."""
    answer = scrape(demo)
    assert answer.status_code == 200, answer.text
    pattern = r'^idempotency_requests_total\{.*outcome="settled",status="201"\} (\S+)$'
    return sum(int(float(n)) for n in re.findall(pattern, answer.text, re.MULTILINE))


def pay(system: System, amount: int) -> int:
    with taps.phone(system) as phone:
        return phone.send(
            taps.on_us(system, amount=amount, narration="counted"), key=new_key()
        ).status


def pay_often(system: System) -> None:
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda n: pay(system, 100 + n), range(REQUESTS)))
    assert statuses == [201] * REQUESTS


def test_requests_of_all_web_processes_are_added_up_whichever_is_asked(
    demo: Demo, system: System
) -> None:
    before = settled(demo)
    pay_often(system)
    seen = {settled(demo) - before for _ in range(10)}
    assert seen == {REQUESTS}, f"each process tells its own figures: {seen}"


def test_what_a_dead_process_counted_stays_counted(demo: Demo, system: System) -> None:
    before = settled(demo)
    pay_often(system)
    dead = demo.children("web")[0]
    counted = list((demo.folder / "tmp").glob(f"ledgerline-metrics-*/counter_{dead.pid}.db"))
    assert counted, "the process that is to die has counted nothing"
    dead.kill()
    dead.wait(20)
    assert settled(demo) - before == REQUESTS, "figures went with the process that counted them"


def test_the_metrics_are_not_for_everybody(demo: Demo) -> None:
    assert scrape(demo, "guessed").status_code == 401
