"""Worker processes that know the bank from their environment, as a deployment has it."""

import os
import subprocess
import sys

from fulfilment.models import Fulfilment
from tests.connectors.iso20022.bank import DEBTOR, PASSWORD, USER
from tests.connectors.iso20022.payments import Town
from tests.recovery.stack import database_url


def environment(url: str) -> dict[str, str]:
    """By which the service pays to MOCKNL2A through `url`."""
    return {
        "ISO20022_URL": url,
        "ISO20022_USER": USER,
        "ISO20022_PASSWORD": PASSWORD,
        "ISO20022_DEBTOR_NAME": DEBTOR["name"],
        "ISO20022_DEBTOR_IBAN": DEBTOR["iban"],
        "ISO20022_DEBTOR_BIC": DEBTOR["bic"],
        "BANK_CONNECTORS": "MOCKNL2A=iso20022",
        "DATABASE_URL": database_url(),
    }


def one_attempt(row: Fulfilment, town: Town) -> "subprocess.Popen[bytes]":
    """A process that makes one attempt, and has longer for it than a busy machine needs."""
    given = {
        "FULFILMENT_LEASE": "6",
        "FULFILMENT_TOTAL_DEADLINE": "4",
        "FULFILMENT_MARGIN": "0.5",
        "FULFILMENT_SCHEDULE": "0.1",
        "ISO20022_VISIBLE_AFTER": "0.1",
    }
    command = [sys.executable, "-m", "tests.concurrency.fulfilment_worker", str(row.pk)]
    return subprocess.Popen(command, env=os.environ | environment(town.wire.url) | given)
