"""The virtual environment: made once, renewed with the lock, repaired after an interruption."""

import sys
from pathlib import Path

import pytest

from ledgerline.demo import install

pytestmark = pytest.mark.processes


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With an empty lock: what pip does with a full one is pip's business."""
    lock = tmp_path / "requirements.lock"
    lock.write_text("# nothing\n")
    monkeypatch.setattr(install, "LOCK", lock)
    monkeypatch.setattr(install, "PROBE", "import pip")
    monkeypatch.setattr(sys, "argv", ["install.py", str(tmp_path / "venv")])
    return tmp_path / "venv"


def _installs(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    seen: list[Path] = []
    monkeypatch.setattr(install, "_pip_install", seen.append)
    return seen


@pytest.mark.long  # each makes a virtual environment, and one more
def test_it_is_made_once_and_renewed_when_the_lock_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install.main()
    assert (folder / "bin" / "python").exists()
    again = _installs(monkeypatch)
    install.main()
    assert again == [], "a second run with the same lock has nothing to do"
    install.LOCK.write_text("# nothing else\n")
    install.main()
    assert again == [folder], "the lock changed and nothing was installed"


@pytest.mark.long
def test_an_interrupted_install_is_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Path) -> None:
        (folder / "half a package").touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as once:
        once.setattr(install, "_pip_install", interrupted)
        with pytest.raises(SystemExit, match="next run repairs it"):
            install.main()
    install.main()
    assert not (folder / "half a package").exists(), "what the interruption left is still there"


def test_a_folder_that_is_something_else_is_not_touched(folder: Path) -> None:
    folder.mkdir()
    (folder / "letter.txt").touch()
    with pytest.raises(SystemExit, match="is no virtual environment"):
        install.main()
    assert (folder / "letter.txt").exists()


def test_an_old_python_is_told_what_to_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    with pytest.raises(SystemExit, match=r"3\.11 or later is needed; this is 3\.9\..*PYTHON="):
        install.main()


def test_a_missing_venv_module_is_told_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install.importlib.util, "find_spec", lambda name: name != "ensurepip")
    with pytest.raises(SystemExit, match="apt-get install python3-venv"):
        install.main()
