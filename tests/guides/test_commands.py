"""The lines for a shell run as they are shown, and so do the settings."""

import json
import os
import shlex
import subprocess
import sys
from base64 import b64encode
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import connection

from idempotency.checks import check_models
from tests.guides.conftest import SAMPLES, shop

ROOT = SAMPLES.parents[2]


def lines(name: str) -> list[list[str]]:
    """The commands of a sample, as a shell would split them."""
    text = (SAMPLES / name).read_text().replace("\\\n", " ")
    found = [shlex.split(line) for line in text.splitlines()]
    assert all(line[:2] == ["python", "manage.py"] for line in found)
    return [line[2:] for line in found]


def run(line: list[str]) -> str:
    said = StringIO()
    with suppress(CommandError):  # what was said before it tells more
        call_command(*line, stdout=said, stderr=said)
    return said.getvalue()


@pytest.mark.django_db(transaction=True, available_apps=["idempotency"])
def test_a_sweep_says_what_it_did() -> None:
    assert [run(line).strip() for line in lines("sweep.sh")] == [
        "freed 0, asked about 0, held 0",
        "would delete 0",
        "deleted 0",
    ]


@pytest.mark.usefixtures("tables", "db")
def test_the_shop_has_no_hole_that_nobody_has_explained() -> None:
    table, data, checked = [run(line) for line in lines("nulls.sh")]
    found = {f"{each['table']}.{each['constraint']}": each for each in json.loads(data)}
    barcode = next(each for name, each in found.items() if name.startswith("shop_item"))
    assert barcode["verdict"] == "allowed"
    assert barcode["reason"] in table
    assert found["shop_place.place_taken"]["verdict"] == "holds"
    assert "no issues" in checked


@pytest.mark.usefixtures("tables")
def test_without_its_reason_the_barcode_is_a_warning(settings: Any) -> None:
    settings.IDEMPOTENCY = {}
    [warning] = [each for each in check_models() if "shop" in each.msg]
    assert warning.id == "idempotency.W001"


def test_the_settings_of_the_shop_pass_every_check() -> None:
    """In a process of their own: those of the service have no part in it."""
    database = connection.settings_dict
    away = {f"DB_{name}": str(database[name]) for name in ("NAME", "USER", "HOST", "PORT")}
    path = os.pathsep.join([str(SAMPLES), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "django", "check", "--settings", "shop.settings"],
        env={**os.environ, **away, "PYTHONPATH": path}, cwd=SAMPLES,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


@pytest.mark.usefixtures("tables")
def test_the_audit_finds_of_the_shop_what_the_page_says(
    live_server: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick
    for name in ("ada", "bola"):
        get_user_model().objects.create_user(name, password="pw")
    shop("models").Item.objects.create(sku="pen", left=100)
    monkeypatch.chdir(tmp_path)
    Path("ada.txt").write_text(f"Authorization: Basic {b64encode(b'ada:pw').decode()}")
    [line] = lines("audit.sh")
    said = run([word.replace("http://127.0.0.1:8000", live_server.url) for word in line])
    broken = [told for told in said.splitlines() if told.startswith("[failed]")]
    # Django's own server takes no chunks; the one that we ship does, and passes (tests/acceptance)
    assert [told.split(":")[0] for told in broken] == ["[failed] chunked"], said
    assert said.count("[passed]") > 15, said
