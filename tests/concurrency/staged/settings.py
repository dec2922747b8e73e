"""The service's own settings around guarded views that play what their request says."""

import os

from ledgerline.settings import *  # noqa: F403
from ledgerline.settings import DATABASES, MIDDLEWARE

ROOT_URLCONF = "tests.concurrency.staged.urls"
MIDDLEWARE = ["tests.concurrency.staged.mortal.Mortal", *MIDDLEWARE]
DATABASES["default"]["ATOMIC_REQUESTS"] = os.environ["STAGED_ATOMIC_REQUESTS"] == "on"
