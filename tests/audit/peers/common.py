"""What the projects have in common: a database, and a payment that takes as long as a real one."""

import json
from typing import Any

from django.db import connection
from django.http import HttpRequest

from ledgerline import env

SETTINGS: dict[str, Any] = {
    "SECRET_KEY": "a-throw-away-key-of-a-test-project-that-serves-nobody",
    "ALLOWED_HOSTS": ["127.0.0.1"],
    "DATABASES": {"default": env.database("DATABASE_URL", "")},
    "USE_TZ": True,
    "DEFAULT_AUTO_FIELD": "django.db.models.BigAutoField",
}

TABLE = "CREATE TABLE payment (id bigserial PRIMARY KEY, owner text NOT NULL, amount int NOT NULL)"
_PAY = "INSERT INTO payment (owner, amount) SELECT %s, %s FROM pg_sleep(0.2) RETURNING id"


def owner_of(request: HttpRequest) -> str:
    """`Authorization: Bearer ada` is Ada: enough for a view that is only looked at from outside."""
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def pay(*, owner: str, body: bytes) -> dict[str, Any]:
    """Pay, and say what was paid. Raises ValueError for a body that is no order."""
    amount = json.loads(body)["amount"]
    if not isinstance(amount, int):
        raise ValueError("amount is no number")  # noqa: TRY004  as json.loads, for one `except`
    with connection.cursor() as cursor:
        cursor.execute(_PAY, [owner, amount])
        return {"id": cursor.fetchone()[0], "owner": owner, "amount": amount}
