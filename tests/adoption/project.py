"""Somebody else's project: three files of theirs, copied to where nothing of ours is."""

import base64
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx2
import pytest

from tests.adoption.wheel import Environment, clean, run

# What an owner runs before every deployment; "then" as in MANAGE.
CHECKS = (
    "check", "--database", "default", "--fail-level", "WARNING",
    "then", "makemigrations", "--check", "--dry-run",
)  # fmt: skip
BANK_SECRET = "whsec_" + base64.b64encode(b"b" * 32).decode()

USERS = """
from django.contrib.auth import get_user_model
get_user_model().objects.create_user("ada", password="pw")
get_user_model().objects.create_superuser("staff", password="pw")
"""

# The service is in the wheel, too. Nothing that an adopter runs may need it.
MANAGE = """
import importlib
import os
import sys

sys.modules["ledgerline"] = None  # whoever imports it fails
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")

from django.core.management import execute_from_command_line

# Several commands, with "then" between them, share one process: starting Django takes longest.
command = []
for argument in [*sys.argv[1:], "then"]:
    if argument != "then":
        command.append(argument)
        continue
    importlib.invalidate_caches()  # the last one may have written a migration
    execute_from_command_line(["manage.py", *command])
    command = []
"""


@dataclass(frozen=True, slots=True)
class Project:
    """The folder with `manage.py` and the package `shop`, its environment and its database."""

    folder: Path
    environment: Environment
    database: str  # its URL

    @property
    def variables(self) -> dict[str, str]:
        url = urlsplit(self.database)
        given = {"NAME": url.path[1:], "USER": unquote(url.username or "")}
        given |= {"PASSWORD": unquote(url.password or ""), "HOST": url.hostname or ""}
        database = {
            f"DB_{name}": value for name, value in (given | {"PORT": str(url.port)}).items()
        }
        bank = {"BANK_BOOKS": str(self.folder / "bank.books"), "BANK_SECRET": BANK_SECRET}
        return database | bank | {"PYTHONUNBUFFERED": "1"}

    def manage(self, *arguments: str) -> str:
        """What `manage.py …` says; fails with it."""
        command = [str(self.environment.python), "manage.py", *arguments]
        return run(command, cwd=self.folder, env=self.variables)

    @contextmanager
    def served(self) -> Iterator[str]:
        """Its development server, a process of its own; yields the address."""
        with self.running("runserver", "--noreload", "127.0.0.1:0") as (process, log):
            yield _address(process, log)

    @contextmanager
    def running(self, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        """A command that goes on while the block runs, and the file with what it says."""
        log = self.folder / f"{arguments[0]}.log"
        command = [str(self.environment.python), "manage.py", *arguments]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=self.folder, env=clean() | self.variables, stdout=output, stderr=output
            )
        try:
            yield process, log
        finally:
            process.terminate()
            process.wait(timeout=30)


def settle(name: str, *, folder: Path, environment: Environment, database: str) -> Project:
    """Copy the project of that name, and do what its owner would do once: migrations, tables, users."""
    shutil.copytree(Path(__file__).parent / "projects" / name, folder / "shop")
    (folder / "manage.py").write_text(MANAGE)
    project = Project(folder, environment, database)
    project.manage("makemigrations", "shop", "then", "migrate", "then", "shell", "-c", USERS)
    return project


@contextmanager
def staff_client(address: str, name: str) -> Iterator[httpx2.Client]:
    """A browser that is signed in to the admin."""
    with httpx2.Client(base_url=address, timeout=30, follow_redirects=True) as browser:
        page = browser.get("/admin/login/").text
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token is not None, page
        form = {"csrfmiddlewaretoken": token[1], "username": name, "password": "pw"}
        signed_in = browser.post("/admin/login/?next=/admin/", data=form | {"next": "/admin/"})
        assert "Log out" in signed_in.text, signed_in.text
        yield browser


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"development server at (http://[\d.:]+)/", log.read_text())
        if found:
            return found[1]
        time.sleep(0.05)
    pytest.fail(f"the project's server did not start:\n{log.read_text()[-4000:]}")
