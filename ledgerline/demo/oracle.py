"""Which file the provider's books are kept in: one per database, so that both sides belong together."""

import hashlib

import psycopg

IDENTITY = """
SELECT (SELECT system_identifier FROM pg_control_system()), oid FROM pg_database WHERE datname = current_database()
"""


def books_name(database_url: str) -> str:
    """A file name that changes when the database is another one, or was made anew."""
    with psycopg.connect(database_url) as connection:
        identity = connection.execute(IDENTITY).fetchone()
    return f"books-{hashlib.sha256(repr(identity).encode()).hexdigest()[:12]}.jsonl"
