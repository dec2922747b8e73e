"""The running story: a line when a payment is made or decided, when a case opens or closes."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import dict_row

# A low number may become visible after a higher one; a line that is missed for that is no harm here.
NOW = """
SELECT coalesce((SELECT max(id) FROM fulfilment_transition), 0) AS move,
       coalesce((SELECT max(id) FROM bank_posting), 0) AS posting, now() AS time
"""
# The last move of each fulfilment since we looked; what it only passed through is not news.
MOVES = """
SELECT * FROM (
  SELECT DISTINCT ON (f.id) t.id, f.payment_id, t.after, t.actor, t.reason
    FROM fulfilment_transition t JOIN fulfilment f ON f.id = t.fulfilment_id
   WHERE t.id > %(move)s ORDER BY f.id, t.id DESC) AS last
 WHERE after NOT IN ('pending', 'dispatching') ORDER BY id
"""
OPENED = "SELECT id, reason, opened_at AS time FROM fulfilment_case WHERE opened_at > %(time)s"
# Between accounts of the bank: done with its answer, so nothing else would ever tell of it.
PAID_HERE = """
SELECT t.reference, t.to_account FROM bank_posting p JOIN bank_transfer t ON t.id = p.transfer_id
 WHERE p.id > %(posting)s AND p.kind = 'transfer' ORDER BY p.id
"""
CLOSED = "SELECT id, closed_by, closed_at AS time FROM fulfilment_case WHERE closed_at > %(time)s"
AT_ONCE = 5  # lines per look; a load test must not flood the terminal


class Story:
    """Reads the database now and then; silent while it cannot."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self._connection: psycopg.Connection[dict[str, Any]] | None = None
        self._move = self._posting = 0
        self._time: datetime | None = None

    def news(self) -> list[str]:
        """What happened since the last call, a sentence each; nothing at the first call."""
        try:
            lines = list(self._lines())
        except psycopg.Error:
            self.close()
            return []
        more = len(lines) - AT_ONCE
        return [*lines[:AT_ONCE], *([f"... and {more} more."] if more > 0 else [])]

    def close(self) -> None:
        """Drop the connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _lines(self) -> Iterator[str]:
        since = {"move": self._move, "posting": self._posting, "time": self._time}
        (now,) = self._rows(NOW, since)
        self._move, self._posting, self._time = now["move"], now["posting"], now["time"]
        if since["time"] is None:
            return
        for row in self._rows(MOVES, since):
            yield f"transfer {_short(row['payment_id'])} is {_state(row['after'])} ({row['actor']}: {row['reason']})"
        for row in self._rows(OPENED, since):
            yield f"case {row['id']} opened ({row['reason'].replace('_', ' ')}): somebody has to look at it"
        for row in self._rows(CLOSED, since):
            yield f"case {row['id']} closed (by {row['closed_by']})"
        for row in self._rows(PAID_HERE, since):  # the many, and the least news: last
            yield f"transfer {_short(row['reference'])} is on the account ending {row['to_account'][-4:]}"

    def _rows(self, statement: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        if self._connection is None:
            self._connection = psycopg.connect(
                self._url, autocommit=True, connect_timeout=2, row_factory=dict_row,
                options="-c statement_timeout=2000",
            )  # fmt: skip
        return self._connection.execute(statement, parameters).fetchall()


def _short(identity: str) -> str:
    """The beginning of the reference that the client was given: `transfer:<reference>`."""
    return f"{identity.rpartition(':')[2][:8]}..."


def _state(after: str) -> str:
    return {"needs_reconciliation": "unknown; the provider will be asked"}.get(after, after)
