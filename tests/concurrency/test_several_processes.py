"""The contract on the web server that we ship, with its several processes (7, 17, 18, 19, 37).

What is durable is counted in SQL; what a client is told is compared byte for byte.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import httpx2
import psutil
import pytest
from django.db import connection

from tests.concurrency.staged import views
from tests.concurrency.web import serving
from tests.connectors.sandbox import until
from tests.integration.idempotency.stage import TABLE, effects

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True, available_apps=["idempotency"]),
    pytest.mark.processes,
    pytest.mark.timeout(240),  # two servers start within the first test
]

MARKER = "Idempotent-Replayed"
LEASE = 2.0
SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "tests.concurrency.staged.settings",
    "IDEMPOTENCY_LEASE": str(LEASE),
    "IDEMPOTENCY_DEADLINE": "1",
    "IDEMPOTENCY_MARGIN": "0.2",
    "IDLE_IN_TRANSACTION_TIMEOUT": "1.5",  # of a frozen process
    "LOCK_TIMEOUT": "9",  # whoever waits at the gate waits longer than the others take
}


@dataclass
class Web:
    """A running server and a customer of it."""

    url: str
    user: UUID

    def send(self, key: str, play: str = "pays", *, path: str = "/atomic/", **more: str) -> Any:
        """On a connection of its own, so that any process may get it."""
        headers = {"X-User": str(self.user), "Idempotency-Key": key}
        headers |= {name.replace("_", "-"): value for name, value in more.items()}
        return httpx2.post(self.url + path, json={"play": play}, headers=headers, timeout=30)

    def final(self, key: str, **how: Any) -> Any:
        """The client's retries until it is told; only "later" may come before that."""
        answers: list[Any] = []

        def told() -> bool:
            answers.append(self.send(key, **how))
            assert answers[-1].status_code in {201, 202, 409, 503}, answers[-1].content
            return bool(answers[-1].status_code == 201)

        until(told, what="a final answer", seconds=20)
        return answers[-1]


@pytest.fixture(scope="module")
def urls(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Two servers, by what ATOMIC_REQUESTS is there; the second is only there to compare."""
    log = tmp_path_factory.mktemp("staged")
    on = SETTINGS | {"STAGED_ATOMIC_REQUESTS": "on"}
    off = SETTINGS | {"STAGED_ATOMIC_REQUESTS": "off", "WEB_WORKERS": "1"}
    with serving(log / "on", **on) as first, serving(log / "off", **off) as second:
        yield {"on": first, "off": second}


@pytest.fixture
def webs(urls: dict[str, str], transactional_db: None) -> Iterator[dict[str, Web]]:
    run(TABLE)
    run(views.BOOKS)
    yield {switch: Web(url, uuid4()) for switch, url in urls.items()}
    run("DROP TABLE stage_effects, staged_books")


@pytest.fixture
def web(webs: dict[str, Web]) -> Web:
    """The one that is harder to get right: Django has a transaction of its own around the view."""
    return webs["on"]


@pytest.fixture
def key() -> str:
    return str(uuid4())


def run(statement: str, *values: object) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


def killed(web: Web, key: str, point: str, **how: Any) -> None:
    try:
        answer = web.send(key, X_Kill_At=point, **how)
    except httpx2.TransportError:
        return
    pytest.fail(f"it did not reach {point}: {answer.status_code} {answer.content!r}")


@pytest.mark.parametrize("point", ["atomic.written", "atomic.settled"])
def test_a_worker_killed_around_its_commit_leaves_its_key_to_the_next_at_once(
    web: Web, key: str, point: str
) -> None:
    killed(web, key, point)
    answer = web.final(key)
    assert effects(web.user) == 1, "the effect is there twice, or was lost with its worker"
    assert (answer.headers.get(MARKER) == "true") == (point == "atomic.settled")
    again = web.send(key)
    assert (again.content, again.headers[MARKER]) == (answer.content, "true")


def test_workers_killed_within_and_after_a_leased_request_leave_one_effect_each(web: Web) -> None:
    keys = {point: str(uuid4()) for point in ("leased.called", "leased.settled")}
    for point, key in keys.items():
        killed(web, key, point, path="/leased/")
    answers = {point: web.final(key, path="/leased/") for point, key in keys.items()}
    assert effects(web.user) == len(keys), "a business row is there twice, or was lost"
    calls = dict(run("SELECT reference, calls FROM staged_books"))
    assert sorted(calls.values()) == [1] * len(keys), f"the other system was called again: {calls}"
    for point, key in keys.items():
        again = web.send(key, path="/leased/")
        assert (again.content, again.headers[MARKER]) == (answers[point].content, "true"), point
        other = web.send(key, "another", path="/leased/")
        assert other.status_code == 422, f"{point}: another body got the key"


def test_a_commit_that_fails_after_a_201_is_an_error_and_its_retry_runs(web: Web, key: str) -> None:
    first = [web.send(key, "needs its twin") for _ in range(4)]
    assert {a.status_code for a in first} == {500}, "a success was told that COMMIT refused"
    assert (effects(), run("SELECT 1 FROM idempotency_keys")) == (0, [])
    run(
        "INSERT INTO stage_effects (id, owner, note) OVERRIDING SYSTEM VALUE VALUES (%s, %s, '')",
        views.TWIN,
        uuid4(),
    )
    paid = web.send(key, "needs its twin")
    assert (paid.status_code, MARKER in paid.headers) == (201, False), "what never was is replayed"
    assert (web.send(key, "needs its twin").content, effects(web.user)) == (paid.content, 1)


@contextmanager
def frozen(web: Web, key: str, point: str, path: str) -> Iterator[Future[Any]]:
    """A worker that stops at the point, until the block ends; its client waits for it."""
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(web.send, key, path=path, X_Stop_At=point)
        until(_stopped, what=f"a worker at {point}", seconds=30)
        [worker] = _stopped()
        try:
            yield late
        finally:
            worker.resume()


def _stopped() -> list[psutil.Process]:
    family = psutil.Process().children(recursive=True)
    return [process for process in family if process.status() == psutil.STATUS_STOPPED]


@pytest.mark.parametrize(
    "point",
    ["atomic.written", "leased.called", "leased.settling"],
)
def test_a_worker_frozen_past_its_lease_commits_nothing_when_it_wakes_up(
    web: Web, key: str, point: str
) -> None:
    path = "/leased/" if point.startswith("leased") else "/atomic/"
    with frozen(web, key, point, path) as late:
        second = web.final(key, path=path)
        assert effects(web.user) == 1
    woken = late.result(timeout=30)
    assert effects(web.user) == 1, "a late finisher committed its writes"
    if woken.status_code == 503:
        assert point == "atomic.written", woken.content  # its session is gone: it cannot look
    else:
        assert (woken.content, woken.headers.get(MARKER)) == (second.content, "true"), (
            "a late finisher told its client something else than everybody"
        )
    third = web.send(key, path=path)
    assert (third.content, third.headers[MARKER]) == (second.content, "true")
    assert len(run("SELECT 1 FROM staged_books")) == (path == "/leased/")


def test_of_twenty_at_once_one_runs_and_the_others_do_not_wait_for_it(web: Web, key: str) -> None:
    start = Barrier(20)

    def race(_: int) -> Any:
        start.wait(timeout=30)
        return web.send(key, "waits")

    run("SELECT pg_advisory_lock(%s)", views.GATE)
    with ThreadPoolExecutor(20) as pool:
        try:
            racing = [pool.submit(race, n) for n in range(20)]
            told = [f.result() for f in islice(as_completed(racing, timeout=20), 19)]
        finally:
            run("SELECT pg_advisory_unlock(%s)", views.GATE)
        assert [a.status_code for a in told] == [409] * 19, "a duplicate ran, failed, or waited"
        assert all(int(a.headers["Retry-After"]) >= 1 for a in told)
        [paid] = [f.result() for f in racing if f.result().status_code == 201]
    assert effects(web.user) == 1, "two of twenty ran: the primary key does not decide"
    assert web.send(key, "waits").content == paid.content


PLAYS = ["pays", *(f"returns {n}" for n in (204, 303, 400, 402, 409, 422, 503)), *views.RAISED]


def test_every_end_of_a_view_is_the_same_with_atomic_requests_on_and_off(
    webs: dict[str, Web],
) -> None:
    said = {switch: {play: _observed(web, play) for play in PLAYS} for switch, web in webs.items()}
    for play in PLAYS:
        assert said["on"][play] == said["off"][play], f"ATOMIC_REQUESTS changes a view that {play}"
    stored = {play for play in PLAYS if said["on"][play][-1][1] == "true"}
    assert stored == {
        "pays", "returns 204", "returns 303", "returns 400", "returns 402", "returns 422",
        "raises a refusal", "raises a 404",
    }  # fmt: skip


def _observed(web: Web, play: str) -> list[Any]:
    """What the client is told twice, and what is there afterwards."""
    key, before = str(uuid4()), effects(web.user)
    sent = [web.send(key, play) for _ in "ab"]
    rows = run("SELECT status, response_code FROM idempotency_keys WHERE key = %s", key)
    told = [(a.status_code, a.headers.get(MARKER), _shown(a)) for a in sent]
    return [effects(web.user) - before, rows, *told]


def _shown(answer: Any) -> Any:
    """All but the number of the row, which counts on."""
    kind = answer.headers.get("Content-Type")
    if answer.status_code == 201:
        return kind, answer.json() | {"n": "counted"}
    return kind, answer.content
