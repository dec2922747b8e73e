"""Starts PostgreSQL and Valkey before Django reads its settings (loaded by `-p tests.services`).

With DATABASE_URL, REDIS_URL and CELERY_BROKER_URL set, the given servers are used instead.
"""

import atexit
import os
import tempfile
from pathlib import Path

_SERVERS = ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL")


def pytest_load_initial_conftests() -> None:
    """Runs before pytest-django sets Django up."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ledgerline.settings")
    if all(os.environ.get(name) for name in _SERVERS):
        return
    from ledgerline.demo import embedded

    folder = tempfile.TemporaryDirectory(prefix="ledgerline-tests-", ignore_cleanup_errors=True)
    servers = embedded.start(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(servers.stop)  # runs first: stop, then remove
    for name, url in servers.urls().items():
        os.environ.setdefault(name, url)
