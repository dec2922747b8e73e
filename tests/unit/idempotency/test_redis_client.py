"""Tokens and locks need a Redis where they are used, and nowhere else."""

import subprocess
import sys
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from idempotency import redis_client


def test_a_project_without_redis_can_import_tokens_and_locks() -> None:
    code = (
        "import sys; sys.modules['redis'] = sys.modules['django_redis'] = None\n"
        "from django.conf import settings\n"
        "settings.configure(INSTALLED_APPS=['idempotency']); import django; django.setup()\n"
        "from datetime import timedelta\n"
        "from idempotency import locks, tokens\n"
        "with locks.held('loop', ttl=timedelta(seconds=1)) as lock: assert not lock.busy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("backend", ["locmem.LocMemCache", "dummy.DummyCache"])
def test_a_cache_that_is_no_redis_is_refused_and_not_taken_for_one(
    settings: Any, backend: str
) -> None:
    settings.CACHES = {"default": {"BACKEND": f"django.core.cache.backends.{backend}"}}
    with pytest.raises(ImproperlyConfigured, match="is not a Redis"):
        redis_client.client("default")
