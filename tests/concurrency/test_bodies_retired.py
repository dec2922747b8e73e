"""The clean-up of bodies beside itself, and beside a person who has an event applied again."""

from datetime import timedelta

import pytest

from fulfilment import retention
from fulfilment.dispatch import attempt
from fulfilment.models import Payload
from fulfilment.testing import pass_time
from tests.concurrency.fulfilments import at_once
from tests.integration.fulfilment.conftest import books, provider, world  # noqa: F401
from tests.integration.fulfilment.support import start

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

BODIES = 60


def test_two_at_once_take_each_body_once_and_wait_for_nobody(settings) -> None:
    settings.FULFILMENT["RETIRE_BATCH"] = 3
    for _ in range(BODIES):
        attempt.run(start().pk)
    pass_time(timedelta(days=91))
    gone = at_once(retention.retire, retention.retire, retention.retire)
    assert not [g for g in gone if isinstance(g, BaseException)], gone
    assert sum(g.total for g in gone) == BODIES, f"a body was counted twice or left: {gone}"
    assert not Payload.objects.exists()
