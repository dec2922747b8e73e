"""Both apps say their types: what is written against them is checked strictly."""

import sys

import pytest

from tests.adoption.project import Project
from tests.adoption.variants import HERE, Variant
from tests.adoption.wheel import run

pytestmark = [pytest.mark.processes, pytest.mark.timeout(600)]

STRICT = """
[mypy]
strict = true
plugins = mypy_django_plugin.main

[mypy.plugins.django-stubs]
django_settings_module = shop.settings
"""

# Whoever uses the apps wrongly has to hear of it: without `py.typed` all of this is Any.
WRONG = """
from fulfilment import start
from idempotency import Refusal, complete, idempotent, reference_of

class Much(Refusal):
    code = 7

idempotent("eventual")
reference_of("nobody", 5)
complete(key="k")
start(kind="payout")
"""


@pytest.fixture(scope="module")
def checked(ledger: Project, variant: Variant) -> Project:
    """The project with mypy and the stubs of Django beside it."""
    if variant != HERE:
        pytest.skip("the types are the same everywhere, and mypy is lent by the tests' own Python")
    ledger.environment.lend("mypy", "django-stubs[compatible-mypy]")
    (ledger.folder / "mypy.ini").write_text(STRICT)
    return ledger


def mypy(project: Project, *, succeeds: bool, path: str) -> str:
    command = [str(project.environment.python), "-m", "mypy", path]
    code = f"import subprocess, sys; sys.exit(subprocess.call({command!r}) != {int(not succeeds)})"
    return run([sys.executable, "-c", code], cwd=project.folder, env=project.variables)


def test_a_project_on_both_apps_passes_mypy_strict(checked: Project) -> None:
    assert "no issues" in mypy(checked, succeeds=True, path="shop")


def test_a_wrong_use_of_the_apps_is_an_error_of_types(checked: Project) -> None:
    (checked.folder / "wrong.py").write_text(WRONG)
    said = mypy(checked, succeeds=False, path="wrong.py")
    wrong = {line.split(":")[1] for line in said.splitlines() if ": error:" in line}
    assert wrong == {"6", "8", "9", "10", "11"}, f"py.typed is not in the wheel:\n{said}"
