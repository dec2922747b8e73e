"""Servers that are given are looked at first, and a wrong one is named in a sentence."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from ledgerline.demo import embedded, given
from ledgerline.demo.embedded import NAMES, Servers
from ledgerline.demo.errors import DemoError
from ledgerline.demo.ports import free_port

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with pytest.MonkeyPatch.context() as environment:
        for name in NAMES:
            environment.delenv(name, raising=False)
        servers = embedded.start(tmp_path_factory.mktemp("given"), durable=False)
    yield servers
    servers.discard()


@pytest.fixture
def urls(servers: Servers) -> dict[str, str]:
    """With an empty database of the test's own."""
    urls = dict(servers.urls())
    name = f"test_{secrets.token_hex(4)}"
    with psycopg.connect(urls["DATABASE_URL"], autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return urls | {"DATABASE_URL": f"{urls['DATABASE_URL'].rpartition('/')[0]}/{name}"}


def test_nothing_given_is_fine() -> None:
    given.check()


def test_empty_servers_are_fine(urls: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, url in urls.items():
        monkeypatch.setenv(name, url)
    given.check()


@pytest.mark.parametrize(
    ("name", "scheme"),
    [("DATABASE_URL", "postgresql"), ("REDIS_URL", "redis"), ("CELERY_BROKER_URL", "redis")],
)
def test_a_server_that_cannot_be_reached_is_one_sentence(
    name: str, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, f"{scheme}://127.0.0.1:{free_port()}/0")
    with pytest.raises(DemoError, match=rf"{name} is given, but .* unset {name}") as raised:
        given.check()
    assert "\n" not in str(raised.value)


def test_a_database_that_holds_something_else_is_refused(
    urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", urls["DATABASE_URL"])
    with psycopg.connect(urls["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE somebody_elses ()")
    with pytest.raises(DemoError, match="holds something else"):
        given.check()


def test_a_database_that_another_version_of_ours_laid_out_is_taken(
    urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", urls["DATABASE_URL"])
    with psycopg.connect(urls["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE django_migrations (app text)")
        connection.execute("INSERT INTO django_migrations VALUES ('fulfilment')")
    given.check()


def test_an_old_postgresql_is_refused(
    urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", urls["DATABASE_URL"])
    monkeypatch.setattr(given, "OLDEST", 990_000)
    with pytest.raises(DemoError, match="PostgreSQL 18; 15 is the oldest"):
        given.check()


def test_cache_and_broker_may_not_be_one_database(
    urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REDIS_URL", "CELERY_BROKER_URL"):
        monkeypatch.setenv(name, urls["REDIS_URL"])
    with pytest.raises(DemoError, match="the same database"):
        given.check()


def test_a_url_read_from_a_file_counts_as_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "url").write_text(f"postgresql://127.0.0.1:{free_port()}/x\n")
    monkeypatch.setenv("DATABASE_URL_FILE", os.fspath(tmp_path / "url"))
    with pytest.raises(DemoError, match="DATABASE_URL is given"):
        given.check()
