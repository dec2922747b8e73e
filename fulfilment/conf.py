"""The `FULFILMENT` setting, typed, with its defaults. Read on every use, so tests may override it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any

from django.conf import settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Conf:
    """Durations are `timedelta`. What `checks` refuses: a lease that a call may outlast."""

    # A claimed row belongs to its worker this long. Longer than deadline + margin, or a slow call
    # would be taken for a dead worker.
    lease: timedelta = timedelta(seconds=30)
    total_deadline: timedelta = timedelta(seconds=10)  # of one call, from name look-up to last byte
    margin: timedelta = timedelta(seconds=5)  # clocks, the scheduler, our own statements
    # Soon while a look-up is likely to settle it, then ever rarer; the last distance repeats.
    schedule: tuple[timedelta, ...] = tuple(
        timedelta(seconds=s) for s in (30, 120, 300, 900, 3600, 10800, 43200, 86400)
    )
    # How often something that is done is asked about again, as long as its provider may give it back.
    watch_every: timedelta = timedelta(days=1)
    jitter: float = 0.2  # of each distance, so that an outage's rows do not return as one wave
    case_deadline: timedelta = timedelta(hours=24)  # or 80 % of the dedupe window, if sooner
    pending_deadline: timedelta = timedelta(hours=1)  # then a person hears of a waiting row
    # Amounts in minor units above which a verdict by hand needs a second person, per currency; a
    # currency that is not named needs none.
    second_person_above: Mapping[str, int] = field(default_factory=dict)
    backoff_first: timedelta = timedelta(seconds=5)  # after a refused connection, doubling
    backoff_last: timedelta = timedelta(minutes=10)
    # References of one payment that a kind's own rule (`Handlers.again`) may use; people may go on.
    generations: int = 3
    crashes: int = 5  # of workers that had one row in hand; then a person is asked about it
    poll_interval: timedelta = timedelta(seconds=5)
    batch: int = 100  # rows per run of a sweep: the next run takes the rest
    lookups_per_second: float = 5.0  # per connector, of all processes together, whoever asks
    # After so many calls in a row that brought no answer nobody calls this connector for a while;
    # then one caller tries. (`breaker` is the cache's.)
    breaker_after: int = 10
    breaker_open: timedelta = timedelta(seconds=30)
    hint: str | None = "fulfilment.tasks.hint"  # what tells a worker of a new row; None: the poller
    connectors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Who sends us events: {provider: {CONNECTOR, SECRETS, …}}; the provider is the name in the
    # address, and CONNECTOR knows how it signs and words them. LIVEMODE (True) is the mode whose
    # events count here, and SPEAKS_FOR (CONNECTOR) the connectors about whose fulfilments they are
    # believed; or ACCOUNTS, {account: connectors}, where the provider knows us by several accounts
    # or sends events of accounts that are not ours. A connector is one account in one mode.
    webhooks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    mailbox_every: timedelta = timedelta(minutes=1)  # of each provider whose messages are fetched
    event_hint: str | None = "fulfilment.tasks.hint_event"  # of a new event; None: the poller
    skew: timedelta = timedelta(minutes=5)  # between the sender's clock and ours, both ways
    max_bytes: int = 1024 * 1024  # of an event's body
    # Of an event about something that is not known (yet): soon while our own transaction may
    # still be open, then ever rarer; the last distance repeats until `dead_after`.
    park_schedule: tuple[timedelta, ...] = tuple(
        timedelta(seconds=s) for s in (5, 15, 60, 300, 1800, 7200, 21600, 86400)
    )
    dead_after: timedelta = timedelta(hours=72)  # as long as most senders would go on trying
    # Bodies of what was said, after the decision: as long as a provider would still talk about it.
    payloads_kept: timedelta = timedelta(days=90)
    # ... and of events that fitted nothing, which may be applied again that long after they came.
    unapplied_kept: timedelta = timedelta(days=400)
    retire_batch: int = 1000  # bodies per transaction of the clean-up
    cache: str | None = "default"  # the alias in CACHES of the filter of known events; or none
    cache_ttl: timedelta = timedelta(hours=24)
    breaker: timedelta = timedelta(seconds=5)  # how long a cache that failed is left alone
    # From when on /readyz/machine, the metrics and the queue's page say that something is wrong, by the
    # names of `fulfilment.health.limits.defaults`; None: never.
    health: Mapping[str, timedelta | int | None] = field(default_factory=dict)


def conf() -> Conf:
    """The setting as it is now; an unknown name in it is a mistake and raises."""
    given = {name.lower(): value for name, value in getattr(settings, "FULFILMENT", {}).items()}
    known = {f.name for f in fields(Conf)}
    if unknown := sorted(given.keys() - known):
        raise ValueError(f"FULFILMENT has no setting {', '.join(unknown).upper()}.")
    return Conf(**given)
