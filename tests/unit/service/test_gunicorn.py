"""Where the web server's processes put what they count."""

import os
from pathlib import Path
from typing import Any

import pytest

from ledgerline import gunicorn

NAME = "PROMETHEUS_MULTIPROC_DIR"


@pytest.fixture(autouse=True)
def _nothing_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "")  # so that what is set by a test is undone
    monkeypatch.setattr(gunicorn, "_counters", None)


def folder() -> Path:
    return Path(os.environ[NAME])


def test_a_folder_is_made_for_a_start_and_removed_at_its_end() -> None:
    gunicorn._share_counters()
    made = folder()
    assert made.is_dir()
    gunicorn.on_exit(None)
    assert not made.exists(), "each start of the web server leaves a folder behind"


def test_figures_of_an_earlier_start_are_none_of_this_one(tmp_path: Any, monkeypatch: Any) -> None:
    kept = tmp_path / "counters"
    monkeypatch.setenv(NAME, str(kept))
    gunicorn._share_counters()
    (kept / "counter_4711.db").write_bytes(b"old")
    (kept / "notes.txt").write_text("not ours")
    gunicorn._share_counters()
    gunicorn.on_exit(None)
    assert [path.name for path in kept.iterdir()] == ["notes.txt"]
