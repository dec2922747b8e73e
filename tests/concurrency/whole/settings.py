"""The service of the tests in this folder: events that fit nothing are looked at twice a second."""

from datetime import timedelta

from tests.recovery.project.settings import *  # noqa: F403
from tests.recovery.project.settings import FULFILMENT

FULFILMENT = FULFILMENT | {
    "PARK_SCHEDULE": (timedelta(seconds=0.5),),
    "DEAD_AFTER": timedelta(seconds=15),
    "BREAKER_OPEN": timedelta(seconds=1),  # outages of look-ups are told here, and soon over
}
