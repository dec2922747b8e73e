"""One wheel for all of these tests, and an environment per project."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import databases
from tests.adoption import wheel
from tests.adoption.project import Project, settle


@pytest.fixture(scope="package")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, from what is checked out."""
    return wheel.build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="package")
def alone(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """`idempotency` on Django and psycopg, with Django's own users (whole numbers)."""
    with _settled("alone", built, tmp_path_factory.mktemp("alone")) as project:
        yield project


@pytest.fixture(scope="package")
def ledger(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Both apps on somebody else's ledger: UUID users of their own, keys per tenant."""
    with _settled("ledger", built, tmp_path_factory.mktemp("ledger")) as project:
        yield project


@contextmanager
def _settled(name: str, built: Path, folder: Path) -> Iterator[Project]:
    environment = wheel.environment(folder / "venv")
    environment.lend("django", "psycopg[binary]")
    environment.install(built, extras="postgres", offline=True)
    with databases.created() as database:
        project = settle(name, folder=folder, environment=environment, database=database)
        project.add_users("ada", staff="staff")
        yield project
