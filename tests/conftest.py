"""What every test may rely on, whatever it touches."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.servers.basehttp import WSGIServer
from django.db.backends.postgresql.operations import DatabaseOperations

# The books refuse TRUNCATE, and Django's flush after a transactional test needs it.
_SWITCH = """
DO $$ DECLARE guarded regclass; BEGIN
    FOR guarded IN SELECT DISTINCT tgrelid::regclass FROM pg_trigger
        WHERE NOT tgisinternal AND tgtype & 32 = 32  -- BEFORE/AFTER TRUNCATE
    LOOP EXECUTE format('ALTER TABLE %s {} TRIGGER USER', guarded); END LOOP;
END $$
"""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes long has a target of its own (`make test-long`, `make test-chaos`): it runs where it is
    asked for.
    """
    asked = config.option.markexpr or ""
    unasked = [name for name in ("long", "chaos") if name not in asked]
    left_out = [item for item in items if any(item.get_closest_marker(name) for name in unasked)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(autouse=True, scope="session")
def flush_may_truncate() -> Iterator[None]:
    plain = DatabaseOperations.sql_flush

    def sql_flush(self: DatabaseOperations, *args: Any, **kwargs: Any) -> list[str]:
        statements = plain(self, *args, **kwargs)
        return statements and [_SWITCH.format("DISABLE"), *statements, _SWITCH.format("ENABLE")]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "sql_flush", sql_flush)
        yield


@pytest.fixture(autouse=True, scope="session")
def live_server_queues() -> Iterator[None]:
    """Django's test server lets ten wait and refuses the rest; the web server we ship does not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WSGIServer, "request_queue_size", 128)
        yield
