"""Bodies that nobody needs any more are taken away, in small steps that several may share.

Of what is decided, and long ago; evidence, journal and cases stay for ever, and so do the SHA-256
digests of the bodies. What comes later is judged as ever: no rule reads a body.
"""

import logging
import time
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from fulfilment import store
from fulfilment.conf import conf

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """How many bodies were taken away, by what they came with."""

    evidence: int
    events: int
    conflicts: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.evidence + self.events + self.conflicts


def retire(*, within: timedelta | None = None) -> Retired:
    """Take away every body that is older than PAYLOADS_KEPT after the decision.

    Of events that were given up: UNAPPLIED_KEPT after they came. Each batch is a transaction of its
    own, so it may be killed at any time and goes on with the next call; it begins no further batch
    when `within` is over. Raises RuntimeError inside a transaction.
    """
    over = None if within is None else time.monotonic() + within.total_seconds()
    gone = Retired(
        evidence=_emptied(store.DELETE_OF_EVIDENCE, over=over),
        events=_emptied(store.DELETE_OF_EVENTS, over=over),
        conflicts=_emptied(store.EMPTY_CONFLICTS, over=over),
    )
    log.info("old bodies taken away", extra={"action": "payloads_retired", "bodies": gone.total})
    return gone


def _emptied(statement: str, *, over: float | None) -> int:
    total = 0
    while over is None or time.monotonic() < over:
        gone = _batch(statement)
        total += gone
        if gone == 0:
            break
    return total


def _batch(statement: str) -> int:
    settings = conf()
    with transaction.atomic(durable=True):
        return store.take_bodies(
            statement,
            kept=settings.payloads_kept,
            unapplied_kept=settings.unapplied_kept,
            batch=settings.retire_batch,
        )
