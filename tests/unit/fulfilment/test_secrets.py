"""A connector's secret may stand in a file, and counts as it stands there now."""

from pathlib import Path
from typing import Any

import pytest

from fulfilment.connectors import registry
from fulfilment.connectors.sandbox import SandboxConnector
from fulfilment.connectors.secrets import with_files
from ledgerline import env


def test_a_file_gives_its_text_without_the_line_break_of_an_editor(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text(" s3cret \n")
    assert with_files({"SECRET": "old", "SECRET_FILE": path, "URL": "u"}) == {
        "SECRET": " s3cret ",
        "URL": "u",
    }


def test_a_new_secret_counts_from_the_next_use_on(tmp_path: Path, settings: Any) -> None:
    path = tmp_path / "secret"
    given = {"CLASS": SandboxConnector, "URL": "http://127.0.0.1:1", "SECRET_FILE": str(path)}
    settings.FULFILMENT = {"CONNECTORS": {"bank": given}}
    for secret in ("one", "two"):
        path.write_text(secret)
        built: Any = registry.build("bank")
        assert built._api._headers["Authorization"] == f"Bearer {secret}", (
            "a secret is kept from an earlier use: to replace it, every process has to restart"
        )


@pytest.mark.parametrize("content", [None, b"\xff s3cret"], ids=["missing", "not text"])
def test_a_file_that_cannot_be_read_is_named_and_not_shown(
    content: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match="SECRET_FILE names a file that") as caught:
        with_files({"SECRET_FILE": path})
    assert "s3cret" not in str(caught.value)


def test_the_service_passes_the_path_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert env.secret("SECRET", "X_SECRET", "by default") == {"SECRET": "by default"}
    monkeypatch.setenv("X_SECRET_FILE", str(tmp_path / "secret"))
    with pytest.raises(env.BadSetting, match="cannot be read"):
        env.secret("SECRET", "X_SECRET")
    (tmp_path / "secret").write_text("s3cret")
    assert env.secret("SECRET", "X_SECRET") == {"SECRET_FILE": str(tmp_path / "secret")}
