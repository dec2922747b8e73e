"""Settings from the environment: typed, and a mistake is one sentence that names the variable."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from ledgerline import env

ROOT = Path(__file__).resolve().parents[3]


def test_a_file_named_by_x_file_wins_over_x(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("from the file\n")
    monkeypatch.setenv("X", "from the variable")
    monkeypatch.setenv("X_FILE", str(tmp_path / "secret"))
    assert env.text("X") == "from the file"


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("X_FILE", str(tmp_path / "missing"))
    with pytest.raises(env.BadSetting, match=r"X_FILE names .*missing, which cannot be read"):
        env.text("X")


@pytest.mark.parametrize(
    ("raw", "value"), [("1", True), ("Yes", True), ("off", False), ("", False)]
)
def test_a_flag_takes_the_usual_words(
    raw: str, value: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("X", raw)
    assert env.flag("X") is value


def test_a_flag_that_is_no_flag_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "maybe")
    with pytest.raises(env.BadSetting, match="X is 'maybe'; use 1 or 0"):
        env.flag("X")


def test_durations_are_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "1,2.5")
    assert env.durations("X", (9,)) == (timedelta(seconds=1), timedelta(seconds=2.5))
    assert env.seconds("Y", 3) == timedelta(seconds=3)


def test_a_database_url_is_taken_apart_with_its_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "postgresql://u%40x:p%2Fw@db:5433/led%20ger?sslmode=require")
    assert env.database("X", "") == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "led ger",
        "USER": "u@x",
        "PASSWORD": "p/w",
        "HOST": "db",
        "PORT": "5433",
        "OPTIONS": {"sslmode": "require"},
    }


def test_another_database_than_postgresql_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "sqlite:///db")
    with pytest.raises(env.BadSetting, match="must be a postgresql:// URL"):
        env.database("X", "")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://u:secret@db:54x2/a", "X is no URL: its host or port cannot be read."),
        ("postgresql://u:secret@db:99999/a", "X is no URL: its host or port cannot be read."),
        ("postgresql://u:secret@[::1/a", "X is no URL: its host or port cannot be read."),
        (
            "postgresql://u:secret@db",
            "X names no database; it must end in one, such as /ledgerline.",
        ),
        ("postgresql://u:secret@db/?sslmode=require", "X names no database; it must end in one"),
        (
            "postgresql://u:secret@db/a?nonsense=1",
            "an option that PostgreSQL does not know: 'nonsense'",
        ),
        (
            "postgresql://u:secret@db/a?nonsense",
            "an option that PostgreSQL does not know: 'nonsense'",
        ),
    ],
)
def test_a_database_url_with_a_mistake_is_one_sentence_without_its_password(
    url: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("X", url)
    with pytest.raises(env.BadSetting) as refused:
        env.database("X", "")
    assert says in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_database_url_may_name_its_parts_among_the_options(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("X", "postgresql:///?host=/run/pg&port=5433&user=u&password=p&dbname=a")
    found = env.database("X", "")
    parts = ("HOST", "PORT", "USER", "PASSWORD", "NAME", "OPTIONS")
    assert [found[part] for part in parts] == ["/run/pg", "5433", "u", "p", "a", {}]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("FULFILMENT_LEASE", "soon", "FULFILMENT_LEASE is 'soon'; it must be a number of seconds."),
        ("DATABASE_URL", "mysql://x", "DATABASE_URL must be a postgresql:// URL"),
        ("DATABASE_URL", "postgresql://db:x/a", "DATABASE_URL is no URL"),
    ],
)
def test_a_bad_setting_ends_a_command_with_one_sentence(name: str, value: str, says: str) -> None:
    ended = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env=os.environ | {name: value},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith(says)
    assert len(ended.stderr.splitlines()) == 1, f"more than a sentence: {ended.stderr}"


@pytest.mark.parametrize(
    ("given", "read"), [("", None), (" ", None), ("6000/min", "6000/min"), ("5/s", "5/s")]
)
def test_a_rate_is_so_many_requests_in_a_time(
    monkeypatch: pytest.MonkeyPatch, given: str, read: str | None
) -> None:
    monkeypatch.setenv("RATE", given)
    assert env.rate("RATE") == read


@pytest.mark.parametrize("given", ["6000", "0/min", "-1/s", "a/min", "5/week", "5/minute"])
def test_what_is_no_rate_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("RATE", given)
    with pytest.raises(env.BadSetting, match="RATE"):
        env.rate("RATE")


def test_limits_are_ages_counts_or_none(monkeypatch) -> None:
    monkeypatch.setenv("LIMITS", "oldest_pending=90.5s, dead_events=0,overdue=none")
    assert env.limits("LIMITS") == {
        "oldest_pending": timedelta(seconds=90.5),
        "dead_events": 0,
        "overdue": None,
    }
    assert env.limits("NOT_THERE") == {}


@pytest.mark.parametrize("raw", ["oldest_pending", "oldest_pending=soon", "=,", "a=1.5"])
def test_limits_that_cannot_be_read_are_a_sentence(monkeypatch, raw: str) -> None:
    monkeypatch.setenv("LIMITS", raw)
    with pytest.raises(env.BadSetting, match=r"LIMITS is .* it must be like oldest_pending=600s"):
        env.limits("LIMITS")
