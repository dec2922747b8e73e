"""Servers that are given are looked at first, and a wrong one is named in a sentence."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from ledgerline.demo import database, embedded, given
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


@pytest.mark.parametrize("name", ["postgres", "template1"])
def test_postgresqls_own_databases_are_refused_even_when_empty(
    urls: dict[str, str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", urls["DATABASE_URL"].rpartition("/")[0] + f"/{name}")
    with pytest.raises(DemoError, match=f"names {name}, which is PostgreSQL's own"):
        given.check()


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        ("postgresql://127.0.0.1/x?sslmod=require", "sslmod"),
        ("postgresql://127.0.0.1:port/x", "port"),
        ("postgresql://127.0.0.1:5432", "no database"),
    ],
)
def test_a_url_that_django_cannot_read_is_one_sentence_and_its_remedy(
    monkeypatch: pytest.MonkeyPatch, raw: str, named: str
) -> None:
    """Without a name, libpq would take the database that is named like the user."""
    monkeypatch.setenv("DATABASE_URL", raw)
    with pytest.raises(DemoError, match=rf"{named}.* Write it as postgresql") as raised:
        given.check()
    assert "\n" not in str(raised.value)


def test_an_old_postgresql_is_refused(
    urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", urls["DATABASE_URL"])
    monkeypatch.setattr(database, "OLDEST", 990_000)
    with pytest.raises(DemoError, match="PostgreSQL 18; 15 is the oldest"):
        given.check()


def test_cache_and_broker_may_not_be_one_database(
    urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REDIS_URL", "CELERY_BROKER_URL"):
        monkeypatch.setenv(name, urls["REDIS_URL"])
    with pytest.raises(DemoError, match="the same database"):
        given.check()


@pytest.mark.parametrize(("part", "other"), [("127.0.0.1", "localhost"), ("/0", ""), ("/0", "/00")])
def test_one_database_under_two_names_is_seen_through(
    urls: dict[str, str], monkeypatch: pytest.MonkeyPatch, part: str, other: str
) -> None:
    monkeypatch.setenv("REDIS_URL", urls["REDIS_URL"])
    monkeypatch.setenv("CELERY_BROKER_URL", urls["REDIS_URL"].replace(part, other))
    with pytest.raises(DemoError, match="the same database"):
        given.check()


def test_two_databases_of_one_server_are_fine(
    urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", urls["REDIS_URL"])
    monkeypatch.setenv("CELERY_BROKER_URL", urls["REDIS_URL"].replace("/0", "/1"))
    given.check()


def test_a_url_read_from_a_file_counts_as_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "url").write_text(f"postgresql://127.0.0.1:{free_port()}/x\n")
    monkeypatch.setenv("DATABASE_URL_FILE", os.fspath(tmp_path / "url"))
    with pytest.raises(DemoError, match="DATABASE_URL is given"):
        given.check()
