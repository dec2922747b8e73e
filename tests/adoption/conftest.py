"""One wheel and one new environment for the projects of these tests."""

from collections.abc import Iterator
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
def environment(built: Path, tmp_path_factory: pytest.TempPathFactory) -> wheel.Environment:
    """Django, psycopg and the wheel, and nothing else."""
    new = wheel.environment(tmp_path_factory.mktemp("venv") / "venv")
    new.lend("django", "psycopg[binary]")
    new.install(built, extras="postgres", offline=True)
    return new


@pytest.fixture(scope="package")
def alone(
    environment: wheel.Environment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    """`idempotency`, with Django's own users (whole numbers)."""
    with databases.created() as database:
        folder = tmp_path_factory.mktemp("alone")
        yield settle("alone", folder=folder, environment=environment, database=database)


@pytest.fixture(scope="package")
def ledger(
    environment: wheel.Environment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    """Both apps on somebody else's ledger: UUID users of their own, keys per tenant."""
    with databases.created() as database:
        folder = tmp_path_factory.mktemp("ledger")
        yield settle("ledger", folder=folder, environment=environment, database=database)
