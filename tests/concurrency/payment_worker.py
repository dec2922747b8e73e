"""One web process with one request, or one sweep: what a test kills or freezes.

    python -m tests.concurrency.payment_worker pay '{"user": …, "key": …, "body": …}'
    python -m tests.concurrency.payment_worker sweep

Prints the answer as one line of JSON. Database, lease and desk come from the environment.
"""

import json
import os
import sys
from typing import Any

import django


def main(work: str, *arguments: str) -> None:
    django.setup()
    from django.test import override_settings

    from tests.integration.bank.desk import HttpDesk

    desk = {"CLASS": HttpDesk, "URL": os.environ["DESK_URL"]}
    with override_settings(CHECKOUT_DESK=desk):
        said = _sweep() if work == "sweep" else _pay(**json.loads(arguments[0]))
    sys.stdout.write(json.dumps(said) + "\n")


def _sweep() -> int:
    from idempotency import sweeps

    return sweeps.recover_due()


def _pay(*, user: str, key: str, body: dict[str, Any]) -> dict[str, Any]:
    from ledgerline.bank.models import User
    from tests.integration.bank.phone import Phone

    owner = User.objects.get(pk=user)
    phone = Phone(owner.accounts.get())
    answer = phone.pay(body, key=key, path="/v1/payments")
    return {
        "status": answer.status_code,
        "body": answer.content.decode(),
        "replayed": answer.headers.get("Idempotent-Replayed"),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
