"""Make the virtual environment: `python3 install.py FOLDER`. Nothing to do takes a blink.

It runs before anything is installed, so it needs nothing but Python; an old one understands enough
of it to say that it is too old.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).resolve().parents[2] / "requirements.lock"
DONE, UNDERWAY = ".installed", ".installing"
PROBE = "import django"  # fails where the packages lie under another Python's version


class CannotInstall(Exception):
    """One sentence that says what is wrong, and one that says what to do about it."""


def main() -> None:
    """Exits with 1 and a sentence where it cannot."""
    try:
        _require_python()
        with LOCK.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two `make` in one clone: the second waits
            _install(Path(sys.argv[1]))
    except CannotInstall as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Interrupted; the next run repairs it.")


def _require_python() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036  # this is what tells people
        raise CannotInstall(
            f"Python 3.11 or later is needed; this is {sys.version_info[0]}.{sys.version_info[1]}."
            " Install a newer one, or name it: make PYTHON=/path/to/python3"
        )
    if not all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        raise CannotInstall(
            "This Python cannot make virtual environments: the module venv or ensurepip is missing."
            " Install it (Debian and Ubuntu: apt-get install python3-venv) and try again."
        )


def _install(folder: Path) -> None:
    done, underway = folder / DONE, folder / UNDERWAY
    stamp = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if done.exists() and done.read_text() == stamp and _works(folder, "-c", PROBE):
        return
    if underway.exists() or not _works(folder, "-m", "pip", "--version"):
        _make_anew(folder)
    underway.touch()
    done.unlink(missing_ok=True)
    _pip_install(folder)
    done.write_text(stamp)
    underway.unlink()


def _works(folder: Path, *arguments: str) -> bool:
    """False too for a copied folder, and where the Python that it was made from is gone."""
    python = folder / "bin" / "python"
    command = [str(python), "-P", *arguments]
    return python.exists() and subprocess.run(command, capture_output=True).returncode == 0


def _make_anew(folder: Path) -> None:
    if folder.exists() and not (folder / "pyvenv.cfg").exists():
        raise CannotInstall(
            f"{folder} is there and is no virtual environment. Name another folder: make VENV=..."
        )
    print(f"Making a virtual environment in {folder} ...", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", str(folder)], stdin=subprocess.DEVNULL)
    if made.returncode != 0:
        raise CannotInstall(
            "The virtual environment could not be made; the reason stands above."
            " Put it right (often a full or read-only disk) and try again."
        )


def _pip_install(folder: Path) -> None:
    print("Installing what requirements.lock names (once; about a minute) ...", flush=True)
    environment = {
        k: v for k, v in os.environ.items() if k not in ("PIP_USER", "PIP_TARGET", "PYTHONPATH")
    }
    installed = subprocess.run(
        [
            str(folder / "bin" / "python"), "-m", "pip", "install", "-qq", "--no-input",
            "--disable-pip-version-check", "--require-hashes", "--requirement", str(LOCK),
        ],
        env=environment, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if installed.returncode != 0:
        raise CannotInstall(
            "The packages could not be installed; pip's reason stands above."
            " Check the network or pip's configuration and try again."
        )


if __name__ == "__main__":
    main()
