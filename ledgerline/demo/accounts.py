"""Which account of the machine PostgreSQL runs as: it refuses to run as root."""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .errors import DemoError


@dataclass(frozen=True, slots=True)
class Account:
    """An account of this machine that a child process can be started as."""

    name: str
    uid: int
    gid: int

    def can_use(self, path: Path) -> bool:
        """Whether this account may enter the folder or run the program, asked of the kernel."""
        test = subprocess.run(
            ["/bin/sh", "-c", '[ -x "$1" ]', "sh", str(path)],
            check=False, cwd="/", user=self.uid, group=self.gid, extra_groups=[],
        )  # fmt: skip
        return test.returncode == 0

    def own(self, path: Path) -> None:
        """Give the file or folder (not what is in it) to this account."""
        os.chown(path, self.uid, self.gid)


def for_postgres() -> Account | None:
    """The account to switch to; None where PostgreSQL can run as whoever runs this.

    `nobody` exists on every system, so nothing has to be added to the machine's accounts.

    Raises:
        DemoError: this user has no name, or root finds no account to switch to.
    """
    if os.geteuid() != 0:
        _require_a_name(os.geteuid())
        return None
    for name in ("nobody", "postgres", "daemon"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)
    raise DemoError(
        "PostgreSQL cannot run as root, and this machine has no account `nobody`.",
        "Run this as an ordinary user, or add that account (useradd --system nobody).",
    )


def _require_a_name(uid: int) -> None:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        raise DemoError(
            f"PostgreSQL needs a user name, and user id {uid} has none in /etc/passwd.",
            "Run this as a user that is listed there, or give a server by DATABASE_URL.",
        ) from None
