"""That these tests show what they say: the versions they run on, and what is in the wheel."""

import zipfile
from pathlib import Path

import psycopg
import pytest

from tests.adoption.project import Project
from tests.adoption.variants import Variant
from tests.adoption.wheel import run

pytestmark = [pytest.mark.processes, pytest.mark.timeout(400)]


def test_the_projects_run_on_the_versions_that_are_named(alone: Project, variant: Variant) -> None:
    code = "import sys, django; print('%d.%d' % sys.version_info[:2], django.__version__)"
    python, django = run([str(alone.environment.python), "-c", code]).split()
    assert variant.python in (None, python)
    assert variant.django is None or django.startswith(variant.django.strip("~=djno")[:3])
    with psycopg.connect(alone.database) as connection:
        assert (connection.info.server_version // 10000 == 15) == variant.system_postgres


def test_the_wheel_holds_three_packages_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(built) as wheel:
        names = wheel.namelist()
    tops = {name.partition("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"ledgerline", "idempotency", "fulfilment"}
    for app in ("idempotency", "fulfilment"):
        assert f"{app}/py.typed" in names, "whoever uses the app gets no types"
        assert any(name.startswith(f"{app}/templates/") for name in names)
