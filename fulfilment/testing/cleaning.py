"""Forgets what nobody may delete, so that a test that commits rows leaves none behind."""

from django.apps import apps
from django.db import connection, transaction


def clean_fulfilments() -> None:
    """Empty every table of this app, and with them whatever refers to their rows.

    What is on record can be neither deleted nor truncated otherwise, and such a row stops the flush
    after a TransactionTestCase. So call it at the end of a test that writes them
    (`self.addCleanup(clean_fulfilments)`, or a fixture). As with `pass_time`, the account of the
    tests has to own the tables.
    """
    models = apps.get_app_config("fulfilment").get_models()
    tables = [model._meta.db_table for model in models if not model._meta.proxy]  # noqa: SLF001
    names = [connection.ops.quote_name(table) for table in tables]
    with transaction.atomic(), connection.cursor() as cursor:
        connection.check_constraints()
        cursor.execute("; ".join(f"ALTER TABLE {name} DISABLE TRIGGER USER" for name in names))
        cursor.execute(f"TRUNCATE {', '.join(names)} CASCADE")
        cursor.execute("; ".join(f"ALTER TABLE {name} ENABLE TRIGGER USER" for name in names))
