"""The service's own settings, with one row for each round and times for a test's patience."""

from ledgerline.settings import *  # noqa: F403
from ledgerline.settings import FULFILMENT
from tests.concurrency.killed.times import impatient

FULFILMENT = impatient(FULFILMENT) | {"BATCH": 1}
STATIC_ROOT = None  # nothing is collected here, and WhiteNoise warns of the folder
