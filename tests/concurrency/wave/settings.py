"""The service's own settings, with the connectors and the times of the waves."""

import os

from ledgerline.settings import *  # noqa: F403
from ledgerline.settings import FULFILMENT
from tests.concurrency.wave.times import impatient

FULFILMENT = impatient(
    FULFILMENT,
    url=os.environ["SANDBOX_URL"],
    frozen=os.environ["FROZEN_URL"],
    secret=os.environ["SANDBOX_SECRET"],
)
STATIC_ROOT = None  # nothing is collected here, and WhiteNoise warns of the folder
