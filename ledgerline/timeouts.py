"""Every time-out, from outside in, as code and settings have it: the table of the guide."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings

from fulfilment.conf import Conf
from fulfilment.conf import conf as effects
from idempotency import conf as contract
from ledgerline import env


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One time-out: who enforces it, and the check that refuses a value which breaks the order."""

    setting: str
    bounds: str
    enforcer: str
    default: timedelta | None  # None: not ours to set
    here: timedelta | None  # as it is in this process
    rule: str = ""
    check: str = ""  # the id


def waits() -> list[tuple[str, list[Wait]]]:
    """The tables, each with its heading."""
    return [
        ("One request, from outside in", _of_a_request()),
        ("One call of another system", _of_a_call()),
        ("While a server is down", _of_an_outage()),
        ("How long something is kept or owned", _of_what_is_kept()),
    ]


def _of_a_request() -> list[Wait]:
    return [
        Wait(
            setting="the client's own",
            bounds="how long the app waits before it sends the request again",
            enforcer="the client",
            default=None,
            here=None,
            rule="longer than PROXY_TIMEOUT, or it hangs up on answers that come",
        ),
        _service(
            "PROXY_TIMEOUT",
            "how long the proxy waits for the web server; set the same in the proxy",
            "the proxy",
            rule="longer than WEB_TIMEOUT",
            check="ledgerline.E001",
        ),
        _service(
            "WEB_TIMEOUT",
            "how long a worker may stand still, and a client may send no piece of its body; "
            "a thread that works is not ended by it",
            "gunicorn",
            rule="longer than STATEMENT_TIMEOUT",
            check="ledgerline.E001",
        ),
        _service(
            "LONGEST_WAIT",
            "how long Prefer: wait=N may wait for an outcome; it holds no connection",
            "the transfer view",
            rule="shorter than WEB_TIMEOUT",
            check="ledgerline.E002",
        ),
        _service(
            "IDLE_IN_TRANSACTION_TIMEOUT",
            "how long a stopped process can keep a transaction, and with it a key",
            "PostgreSQL, which ends the session",
            rule="not shorter than STATEMENT_TIMEOUT",
            check="idempotency.W018",
        ),
        _service(
            "STATEMENT_TIMEOUT",
            "one statement",
            "PostgreSQL",
            rule="longer than LOCK_TIMEOUT",
            check="ledgerline.E001",
        ),
        _service("LOCK_TIMEOUT", "the wait for one row that somebody else changes", "PostgreSQL"),
    ]


def _of_a_call() -> list[Wait]:
    return [
        _contract(
            "LEASE",
            "how long a leased request owns its key; then it is asked about",
            "the next retry or sweep",
            rule="longer than DEADLINE + MARGIN",
            check="idempotency.E007",
        ),
        _contract("DEADLINE", "the external call of a leased request", "the handler's client"),
        _contract("MARGIN", "clocks, the scheduler, our own statements", "added to the deadline"),
        _effect(
            "LEASE",
            "how long a worker owns a fulfilment; then it is looked up",
            "the sweep",
            rule="longer than TOTAL_DEADLINE + MARGIN",
            check="fulfilment.E002",
        ),
        _effect(
            "TOTAL_DEADLINE",
            "one call of a connector, from name look-up to last byte",
            "its HTTP client",
        ),
        _effect("MARGIN", "the same of a connector", "added to the deadline"),
        _effect("POLL_INTERVAL", "between two rounds of the sweeps", "beat, or run_sweeps"),
        _contract("RECHECK_FIRST", "until a held key is asked about; then ever rarer", "the sweep"),
        _contract("RECHECK_LAST", "the longest distance of these", "the sweep"),
    ]


def _of_an_outage() -> list[Wait]:
    server: Any = settings.DATABASES["default"]["OPTIONS"]
    cache: Any = settings.CACHES["default"]["OPTIONS"]
    connect = timedelta(seconds=int(server["connect_timeout"]))
    answer = timedelta(seconds=cache["SOCKET_TIMEOUT"])
    return [
        _given("connect_timeout of the database", "one attempt to connect", "libpq", connect),
        _given("SOCKET_TIMEOUT of the cache", "one question to Redis", "its client", answer),
        _contract("BREAKER", "how long a cache that failed is left alone", "each process"),
    ]


def _of_what_is_kept() -> list[Wait]:
    return [
        _contract(
            "ACTION_LEASE", "how long a guarded action may take; then it is held", "the sweep"
        ),
        _contract("TOKEN_LIFETIME", "from a confirmation to its first use", "Redis"),
        _contract("CACHE_TTL", "a finished answer in the cache", "Redis"),
        _contract(
            "RETENTION",
            "a finished answer on record",
            "sweep_idempotency",
            rule="not shorter than CACHE_TTL",
            check="idempotency.E016",
        ),
    ]


def _service(name: str, bounds: str, enforcer: str, **order: str) -> Wait:
    return _wait(name, bounds, enforcer, env.DEFAULTS[name], getattr(settings, name), **order)


def _contract(name: str, bounds: str, enforcer: str, **order: str) -> Wait:
    default, here = _both(contract.Settings(), contract.current(), name)
    return _wait(f"IDEMPOTENCY[{name!r}]", bounds, enforcer, default, here, **order)


def _effect(name: str, bounds: str, enforcer: str, **order: str) -> Wait:
    default, here = _both(Conf(), effects(), name)
    return _wait(f"FULFILMENT[{name!r}]", bounds, enforcer, default, here, **order)


def _given(name: str, bounds: str, enforcer: str, here: timedelta) -> Wait:
    return _wait(name, bounds, enforcer, here, here)


def _both(defaults: Any, current: Any, name: str) -> tuple[timedelta, timedelta]:
    return getattr(defaults, name.lower()), getattr(current, name.lower())


def _wait(
    setting: str, bounds: str, enforcer: str, default: timedelta, here: timedelta, **order: str
) -> Wait:
    return Wait(
        setting=setting, bounds=bounds, enforcer=enforcer, default=default, here=here, **order
    )
