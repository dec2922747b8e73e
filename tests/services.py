"""Starts PostgreSQL and Valkey before Django reads its settings (loaded by `-p tests.services`).

With DATABASE_URL, REDIS_URL and CELERY_BROKER_URL set, the given servers are used instead; only
what is missing is started.
"""

import atexit
import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Generator[None, object, object]:
    """Around the other plugins' turns, so before pytest-django sets Django up."""
    _give_servers()
    return (yield)


def _give_servers() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ledgerline.settings")
    from ledgerline.demo import embedded
    from ledgerline.demo.errors import DemoError

    if all(os.environ.get(name) for name in embedded.NAMES):
        return
    folder = tempfile.TemporaryDirectory(prefix="ledgerline-tests-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    Path(folder.name).chmod(0o711)  # as root, PostgreSQL runs as an account that must get through
    try:
        servers = embedded.start(Path(folder.name), durable=False)
    except DemoError as error:
        raise pytest.UsageError(str(error)) from None
    atexit.register(servers.discard)  # runs before the folder's clean-up
    os.environ.update(servers.urls())
