"""Embedded servers: real, their own, and gone when they are stopped."""

import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from ledgerline.demo import accounts, embedded, placement, postgres, valkey
from ledgerline.demo.errors import DemoError
from tests.integration.demo.conftest import Start

pytestmark = pytest.mark.processes


def _number_of_connections(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT current_setting('max_connections')::int").fetchone()
    assert row
    return row[0]


def _setting(url: str, name: str) -> str:
    with redis.Redis.from_url(url) as client:
        return client.config_get(name)[name]


def _alive(pids: dict[str, list[int]]) -> list[str]:
    return [role for role, (pid, *_) in pids.items() if psutil.pid_exists(pid)]


def test_two_clones_that_start_at_once_get_servers_of_their_own(
    start: Start, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(start, [tmp_path / "one", tmp_path / "two"])
    assert set(one.urls()) == set(embedded.NAMES)
    shared = set(one.urls().values()) & set(two.urls().values())
    assert not shared, "both clones were given the same server"
    for servers in (one, two):
        assert _number_of_connections(servers.urls()["DATABASE_URL"]) >= 200


def test_the_cache_may_forget_and_the_broker_may_not(start: Start, tmp_path: Path) -> None:
    urls = start(tmp_path).urls()
    assert _setting(urls["REDIS_URL"], "maxmemory-policy") == "allkeys-lru"
    assert _setting(urls["REDIS_URL"], "appendonly") == "no"
    assert _setting(urls["CELERY_BROKER_URL"], "maxmemory-policy") == "noeviction"
    assert _setting(urls["CELERY_BROKER_URL"], "appendonly") == "yes"


def test_nobody_gets_in_without_the_password(start: Start, tmp_path: Path) -> None:
    urls = start(tmp_path).urls()
    database = psycopg.conninfo.conninfo_to_dict(urls["DATABASE_URL"]) | {"password": "guess"}
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(**database)
    port = redis.Redis.from_url(urls["REDIS_URL"]).connection_pool.connection_kwargs["port"]
    with redis.Redis(port=port) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()


def test_stop_leaves_no_process(start: Start, tmp_path: Path) -> None:
    servers = start(tmp_path)
    pids = servers.pids()
    assert _alive(pids) == ["postgres", "cache", "broker"]
    servers.stop()
    assert _alive(pids) == []


def test_a_start_that_fails_half_way_stops_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def fail(children, *_: object, **__: object) -> str:
        seen.extend(children.pids()["postgres"])
        raise DemoError("No Valkey here.", "Give one.")

    monkeypatch.setattr(valkey, "start", fail)
    with pytest.raises(DemoError):
        embedded.start(tmp_path, durable=False)
    placement.discard(tmp_path / "postgres")
    assert seen
    assert not psutil.pid_exists(seen[0]), "PostgreSQL outlived the start that failed"


def test_the_data_are_there_again_after_a_kill_of_everything(start: Start, tmp_path: Path) -> None:
    servers = start(tmp_path)
    with psycopg.connect(servers.urls()["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE kept ()")
    for pids in servers.pids().values():
        os.kill(pids[0], signal.SIGKILL)
    url = start(tmp_path).urls()["DATABASE_URL"]
    with psycopg.connect(url) as connection:
        connection.execute("SELECT FROM kept")


def test_servers_that_a_killed_parent_left_running_are_ended_first(
    start: Start, tmp_path: Path
) -> None:
    orphans = start(tmp_path).pids()
    start(tmp_path)
    assert _alive(orphans) == [], "a second PostgreSQL would run on the same data"


def test_a_pid_file_that_names_a_stranger_does_not_stop_the_start(
    start: Start, tmp_path: Path
) -> None:
    start(tmp_path).stop()
    home = placement.elsewhere(tmp_path / "postgres") or tmp_path / "postgres" / "home"
    with _stranger() as stranger:
        lock = home / "data" / "postmaster.pid"
        lock.write_text(f"{stranger.pid}\n{home / 'data'}\n1\n5432\n\n127.0.0.1\n\nready\n")
        url = start(tmp_path).urls()["DATABASE_URL"]
        assert stranger.poll() is None, "a process that is not ours was ended"
    assert _number_of_connections(url) >= 200


@contextmanager
def _stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the account that PostgreSQL runs as: of any other it believes the file is old."""
    account = accounts.for_postgres()
    with subprocess.Popen(["sleep", "60"], user=account.uid if account else None) as stranger:
        yield stranger
        stranger.kill()


def test_a_port_that_somebody_takes_first_is_exchanged_for_another(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ledgerline.demo import starting

    other = start(tmp_path / "other").urls()["DATABASE_URL"]
    taken = int(psycopg.conninfo.conninfo_to_dict(other)["port"])
    free_port, drawn = starting.free_port, iter([taken, taken])
    monkeypatch.setattr(starting, "free_port", lambda: next(drawn, None) or free_port())
    url = start(tmp_path / "mine").urls()["DATABASE_URL"]
    assert int(psycopg.conninfo.conninfo_to_dict(url)["port"]) != taken


def test_a_server_that_is_given_is_not_started(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://somewhere.else/bank")
    servers = start(tmp_path)
    assert set(servers.urls()) == {"REDIS_URL", "CELERY_BROKER_URL"}
    assert "postgres" not in servers.pids()


def test_a_broken_data_folder_is_one_sentence_and_a_remedy(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "FIXED", postgres.FIXED | {"max_connections": "none"})
    with pytest.raises(DemoError, match=r"(?s)postgres did not start.*max_connections.*Put right"):
        start(tmp_path)
