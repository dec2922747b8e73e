"""The wheel as it would be published, and new virtual environments that know nothing but it."""

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Environment:
    """One virtual environment."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        return next(self.folder.glob("lib/python*/site-packages"))

    def lend(self, *names: str) -> None:
        """Let it use packages of the test's own environment, and what those need: no network."""
        for name in _with_needs(names):
            for top in _top_level(name):
                link = self.packages / top.name
                if not link.exists():
                    link.symlink_to(top)

    def install(self, wheel: Path, *, extras: str, offline: bool, also: str | None = None) -> None:
        """Install the wheel; offline, every requirement of it has to be there already."""
        where = ["--no-index"] if offline else []
        target = f"ledgerline[{extras}] @ {wheel.as_uri()}"
        run([
            sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet",
            "--disable-pip-version-check", *where, target, *([also] if also else []),
        ])  # fmt: skip


def build(folder: Path) -> Path:
    """Build the wheel. Where hatchling is installed nothing is fetched for it."""
    isolated = importlib.util.find_spec("hatchling") is None
    run([
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder),
        "--disable-pip-version-check", *([] if isolated else ["--no-build-isolation"]), str(ROOT),
    ])  # fmt: skip
    return next(folder.glob("*.whl"))


def environment(folder: Path, *, python: str = sys.executable) -> Environment:
    """An empty virtual environment."""
    run([python, "-m", "venv", "--without-pip", str(folder)])
    return Environment(folder)


def run(
    command: list[str],
    *,
    cwd: Path = ROOT,
    env: dict[str, str] | None = None,
    patience: float = 300,
) -> str:
    """What the command said. Fails with all of it if the command did."""
    done = subprocess.run(
        command, cwd=cwd, env=clean() | (env or {}), check=False, timeout=patience,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def clean() -> dict[str, str]:
    """The environment of somebody who has never heard of this repository."""
    ours = {"DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL", "DJANGO_SETTINGS_MODULE"}
    ours |= {"PYTHONPATH", "VIRTUAL_ENV", "PYTEST_CURRENT_TEST"}
    return {name: value for name, value in os.environ.items() if name not in ours}


def _with_needs(names: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        wanted = Requirement(waiting.pop())
        if wanted.name not in found:
            found.add(wanted.name)
            waiting += _needs(wanted)
    return found


def _needs(wanted: Requirement) -> Iterator[str]:
    for line in importlib.metadata.requires(wanted.name) or ():
        needed = Requirement(line)
        extras = wanted.extras or {""}
        if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in extras):
            yield str(needed).partition(";")[0]


def _top_level(name: str) -> set[Path]:
    """The entries of site-packages that belong to the package."""
    package = importlib.metadata.distribution(name)
    tops = {
        file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")
    }
    return {Path(str(package.locate_file(top))) for top in tops}
