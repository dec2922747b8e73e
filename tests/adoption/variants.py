"""Where else the projects have to run: other Pythons, other Djangos, the system's PostgreSQL."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ledgerline.demo import accounts
from ledgerline.demo.ports import free_port

SYSTEM_15 = Path("/usr/lib/postgresql/15/bin")  # where Debian and Ubuntu put it


@dataclass(frozen=True, slots=True)
class Variant:
    """One combination; None is what the tests themselves run on."""

    python: str | None = None  # "3.13"
    django: str | None = None  # a requirement
    system_postgres: bool = False

    def __str__(self) -> str:
        parts = (self.python, self.django, "PostgreSQL 15" if self.system_postgres else None)
        return ", ".join(part for part in parts if part) or "here"


HERE = Variant()
MATRIX = (
    Variant("3.11", "django~=5.2.8", system_postgres=True),
    Variant("3.12", "django~=6.1.0"),
    Variant("3.13", "django~=6.1.0", system_postgres=True),
)


def interpreter(version: str) -> str:
    """A Python of that version which runs; skips where there is none."""
    named = [
        shutil.which(f"python{version}"),
        *Path.home().glob(f".pyenv/versions/{version}.*/bin/python"),
    ]
    for candidate in named:
        if candidate and subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
            return str(candidate)
    pytest.skip(f"this machine has no Python {version}")


@contextmanager
def postgres_15() -> Iterator[str]:
    """The URL of a server of the system's PostgreSQL 15, made for this; skips where there is none."""
    if not (SYSTEM_15 / "postgres").exists():
        pytest.skip("this machine has no PostgreSQL 15 (package postgresql-15)")
    account = accounts.for_postgres()
    as_whom = (
        {} if account is None else {"user": account.uid, "group": account.gid, "extra_groups": []}
    )
    folder = Path(tempfile.mkdtemp(prefix="adoption-postgres-"))
    if account is not None:
        account.own(folder)
    data, port = folder / "data", free_port()
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
    control = [str(SYSTEM_15 / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log")]
    try:
        for command in (
            [
                str(SYSTEM_15 / "initdb"),
                "-D",
                str(data),
                "-U",
                "postgres",
                "--auth=trust",
                "-E",
                "UTF8",
            ],
            [*control, "-o", options, "start"],
        ):
            subprocess.run(
                command, check=True, cwd="/", capture_output=True, timeout=120, **as_whom
            )
        yield f"postgresql://postgres:none@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run(
            [*control, "-m", "immediate", "stop"],
            check=False,
            cwd="/",
            capture_output=True,
            **as_whom,
        )
        shutil.rmtree(folder, ignore_errors=True)
