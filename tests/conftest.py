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
