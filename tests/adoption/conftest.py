"""One wheel for all of these tests, and for each variant a new environment with both projects."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import databases
from tests.adoption import variants, wheel
from tests.adoption.project import Project, settle
from tests.adoption.variants import HERE, MATRIX, Variant


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The matrix takes minutes and packages from an index: it runs where it is asked for by name."""
    if "matrix" in (config.option.markexpr or ""):
        return
    left_out = [item for item in items if item.get_closest_marker("matrix")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="package")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, from what is checked out."""
    return wheel.build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(
    scope="package",
    params=[HERE, *(pytest.param(variant, marks=pytest.mark.matrix) for variant in MATRIX)],
    ids=str,
)
def variant(request: pytest.FixtureRequest) -> Variant:
    """On what the projects run."""
    chosen: Variant = request.param
    return chosen


@pytest.fixture(scope="package")
def environment(
    built: Path, variant: Variant, tmp_path_factory: pytest.TempPathFactory
) -> wheel.Environment:
    """Django, psycopg and the wheel, and nothing else."""
    folder = tmp_path_factory.mktemp("venv") / "venv"
    if variant.python is None:
        new = wheel.environment(folder)
        new.lend("django", "psycopg[binary]")
        new.install(built, extras="postgres", offline=True)
    else:
        new = wheel.environment(folder, python=variants.interpreter(variant.python))
        new.install(built, extras="postgres", offline=False, also=variant.django)
    return new


@pytest.fixture(scope="package")
def server(variant: Variant) -> Iterator[str | None]:
    """The PostgreSQL of the projects; None: that of the tests."""
    if not variant.system_postgres:
        yield None
        return
    with variants.postgres_15() as url:
        yield url


@pytest.fixture(scope="package")
def alone(
    environment: wheel.Environment, server: str | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    """`idempotency`, with Django's own users (whole numbers)."""
    with databases.created(server) as database:
        folder = tmp_path_factory.mktemp("alone")
        yield settle("alone", folder=folder, environment=environment, database=database)


@pytest.fixture(scope="package")
def ledger(
    environment: wheel.Environment, server: str | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    """Both apps on somebody else's ledger: UUID users of their own, keys per tenant."""
    with databases.created(server) as database:
        folder = tmp_path_factory.mktemp("ledger")
        yield settle("ledger", folder=folder, environment=environment, database=database)
