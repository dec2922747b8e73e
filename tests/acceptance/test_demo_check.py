"""`demo_check` as a person or a build runs it: its exit code is the verdict."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ledgerline.demo.ports import free_port
from ledgerline.demo.probes import answers
from tests.acceptance.conftest import ROOT, Demo

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]


def _check(folder: Path, *stories: str) -> subprocess.CompletedProcess[str]:
    wanted = [part for story in stories for part in ("--story", story)]
    command = [sys.executable, "manage.py", "demo_check", "--folder", str(folder), *wanted]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=150)


@pytest.fixture
def empty_provider(tmp_path: Path) -> Iterator[str]:
    """A provider that nobody ever paid through."""
    port = free_port()
    module = "fulfilment.connectors.sandbox.provider"
    books = str(tmp_path / "books.jsonl")
    command = [sys.executable, "-m", module, "--port", str(port), "--books", books]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert "listening" in process.stdout.readline()
        yield f"http://127.0.0.1:{port}"
        process.terminate()


def test_stories_that_end_as_they_must_exit_with_0(demo: Demo) -> None:
    done = _check(demo.folder, "a", "c")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All 2 stories ended as they must." in done.stdout


@pytest.mark.long
def test_a_payment_that_the_provider_does_not_have_exits_with_1(
    demo: Demo, tmp_path: Path, empty_provider: str
) -> None:
    """Our own rows say paid; only the other side's books can tell that it is not so."""
    facts = json.dumps(demo.facts | {"sandbox_url": empty_provider})
    (tmp_path / "demo.json").write_text(facts)
    done = _check(tmp_path, "a", "c")
    assert done.returncode == 1, f"a wrong story passed:\n{done.stdout}"
    assert "the provider has no such payment" in done.stdout
    assert "1 of 2 stories ended wrong." in done.stderr


def test_without_a_demo_it_exits_with_1_and_says_what_to_start(tmp_path: Path) -> None:
    done = _check(tmp_path)
    assert done.returncode == 1
    assert "Start `make demo` in another terminal first." in done.stderr


def test_the_facts_open_the_database_and_name_the_secret_of_events(demo: Demo) -> None:
    facts = demo.facts
    assert facts["webhook_secret"].startswith("whsec_")
    with psycopg.connect(facts["database_url"]) as connection:  # by libpq, as psql reads it
        assert connection.execute("SELECT count(*) > 0 FROM bank_account").fetchone() == (True,)
    assert answers(f"{facts['sandbox_url']}/books?format=json")
