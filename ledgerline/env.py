"""Settings from the environment: every value typed, every mistake one sentence.

`X_FILE` names a file that holds the value of `X`, so that secrets need not stand in the
environment (the convention of container secrets).
"""

import os
import re
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

T = TypeVar("T")

DEFAULTS: dict[str, timedelta] = {}  # of every duration that was asked for, by its name


class BadSetting(ValueError):
    """An environment variable holds a value that this setting cannot take."""


def text(name: str, default: str = "") -> str:
    """The variable's text; `NAME_FILE` wins and is read as a file without its trailing newline."""
    path = os.environ.get(f"{name}_FILE")
    if path is None:
        return os.environ.get(name, default)
    try:
        return Path(path).read_text().rstrip("\n")
    except OSError as error:
        raise BadSetting(
            f"{name}_FILE names {path}, which cannot be read: {error.strerror}."
        ) from error


def secret(setting: str, name: str, default: str = "") -> dict[str, str]:
    """The part of a connector's settings that holds a secret, from the variable `name`.

    With `NAME_FILE` the connector gets the path and reads it at every use, so that a new secret
    counts without a restart. Raises `BadSetting` at start where the file cannot be read.
    """
    path = os.environ.get(f"{name}_FILE")
    given = text(name, default)
    return {setting: given} if path is None else {f"{setting}_FILE": path}


def named(name: str) -> bool:
    """Is the variable there at all, be it blank?"""
    return name in os.environ or f"{name}_FILE" in os.environ


def flag(name: str, *, default: bool = False) -> bool:
    """`1`, `true`, `yes`, `on` and their opposites, in any case."""
    words = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }
    raw = text(name).strip().lower()
    if raw and raw not in words:
        raise BadSetting(f"{name} is {raw!r}; use 1 or 0.")
    return words.get(raw, default)


def integer(name: str, default: int) -> int:
    """A whole number."""
    return _parsed(name, int, default, "a whole number")


def seconds(name: str, default: float) -> timedelta:
    """A duration, written as a number of seconds (`2.5`)."""
    DEFAULTS[name] = timedelta(seconds=default)
    return timedelta(seconds=_parsed(name, float, default, "a number of seconds"))


def durations(name: str, default: tuple[float, ...]) -> tuple[timedelta, ...]:
    """A comma-separated list of seconds (`1,2,5`)."""
    pieces = _parsed(
        name,
        lambda raw: tuple(float(p) for p in raw.split(",")),
        default,
        "seconds, separated by commas",
    )
    return tuple(timedelta(seconds=piece) for piece in pieces)


def rate(name: str) -> str | None:
    """So many requests in a time (`6000/min`; also s, h, d); None if it is blank: no limit."""
    raw = text(name).strip()
    if raw and not re.fullmatch(r"[1-9][0-9]*/(s|sec|m|min|h|hour|d|day)", raw):
        raise BadSetting(f"{name} is {raw!r}; it must be like 100/s, 6000/min or 50000/h.")
    return raw or None


def amounts(name: str, default: str) -> dict[str, int]:
    """Minor units per currency (`NGN=100000000,EUR=1000000`); an empty value names none."""
    raw = text(name, default).strip()
    try:
        pairs = [piece.split("=") for piece in raw.split(",") if raw]
        return {currency.strip(): int(amount) for currency, amount in pairs}
    except ValueError as error:
        raise BadSetting(
            f"{name} is {raw!r}; it must be like NGN=100000000,EUR=1000000."
        ) from error


def pairs(name: str) -> dict[str, str]:
    """Words by words (`MOCKNL2A=iso20022,058=sandbox`); an empty value names none."""
    pieces = [piece.partition("=") for piece in text(name).split(",") if piece.strip()]
    found = {key.strip(): value.strip() for key, _, value in pieces}
    if not all(found) or not all(found.values()):
        raise BadSetting(
            f"{name} is {text(name)!r}; it must be like MOCKNL2A=iso20022,058=sandbox."
        )
    return found


def limits(name: str) -> dict[str, timedelta | int | None]:
    """Ages in seconds, counts, or none at all (`oldest_pending=600s,dead_events=0,overdue=none`)."""
    raw = text(name).strip()
    pieces = [piece.strip().partition("=") for piece in raw.split(",") if piece.strip()]
    try:
        return {key.strip(): _limit(value.strip()) for key, _, value in pieces}
    except ValueError as error:
        raise BadSetting(
            f"{name} is {raw!r}; it must be like oldest_pending=600s,dead_events=0,overdue=none."
        ) from error


def _limit(value: str) -> timedelta | int | None:
    if value == "none":
        return None
    if value.endswith("s"):
        return timedelta(seconds=float(value.removesuffix("s")))
    return int(value)


def database(name: str, default: str) -> dict[str, object]:
    """Django's connection settings from `postgresql://user:password@host:port/name?option=value`.

    As in libpq, `user`, `password`, `host`, `port` and `dbname` may stand among the options, and win
    there. Unlike libpq it wants a database's name: the user's own would be a silent second choice.
    """
    url, port = _postgresql(name, text(name, default))
    options = dict(parse_qsl(url.query, keep_blank_values=True))
    settings: dict[str, object] = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": options.pop("dbname", unquote(url.path.lstrip("/"))),
        "USER": options.pop("user", unquote(url.username or "")),
        "PASSWORD": options.pop("password", unquote(url.password or "")),
        "HOST": options.pop("host", unquote(url.hostname or "")),
        "PORT": options.pop("port", port),
        "OPTIONS": options,
    }
    if not settings["NAME"]:
        raise BadSetting(f"{name} names no database; it must end in one, such as /ledgerline.")
    _refuse_unknown(name, options)
    return settings


def _postgresql(name: str, raw: str) -> tuple[SplitResult, str]:
    """The URL and its port. No sentence quotes the URL: it may hold a password."""
    try:
        url = urlsplit(raw)
        port = url.port
    except ValueError as error:
        raise BadSetting(f"{name} is no URL: its host or port cannot be read.") from error
    if url.scheme not in {"postgres", "postgresql"}:
        raise BadSetting(f"{name} must be a postgresql:// URL: the guarantees are PostgreSQL's.")
    return url, str(port or "")


def _refuse_unknown(name: str, options: Iterable[str]) -> None:
    """The driver would refuse them too, at the first connection and once for each request."""
    from psycopg.pq import Conninfo  # only who reads this setting needs the driver

    known = {option.keyword.decode() for option in Conninfo.get_defaults()}
    for option in sorted(set(options) - known):
        raise BadSetting(f"{name} has an option that PostgreSQL does not know: {option!r}.")


def _parsed(name: str, parse: Callable[[str], T], default: T, kind: str) -> T:
    raw = text(name).strip()
    if not raw:
        return default
    try:
        return parse(raw)
    except ValueError as error:
        raise BadSetting(f"{name} is {raw!r}; it must be {kind}.") from error
