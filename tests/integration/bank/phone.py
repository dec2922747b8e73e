"""A customer's phone: bytes over HTTP, one key per tap."""

import json
from typing import Any
from uuid import uuid4

from django.test import Client

from ledgerline import tokens
from ledgerline.bank.models import Account

B0: dict[str, Any] = {
    "toAccount": "0123456789",
    "amount": 10_000,
    "currency": "NGN",
    "narration": "INV-1001",
}


class Phone:
    """Signed in as the owner of an account."""

    def __init__(self, account: Account) -> None:
        self._headers = {"Authorization": f"Bearer {tokens.issue(account.owner)}"}
        self._client = Client(raise_request_exception=False)

    def pay(
        self,
        body: Any = B0,
        *,
        key: str | None = None,
        content_type="application/json",
        path="/v1/transfers",
        prefer: str = "",
        token: str | None = None,
    ):
        """POST; `body` as it is if bytes, else as JSON."""
        wish = {"Prefer": prefer} if prefer else {}
        wish |= {} if token is None else {"Confirmation-Token": token}
        return self._client.generic(
            "POST",
            path,
            body if isinstance(body, bytes) else json.dumps(body).encode(),
            content_type=content_type,
            headers=self._headers | wish | {"Idempotency-Key": key or str(uuid4())},
        )

    def get(self, path: str):
        return self._client.get(path, headers=self._headers)

    def post(self, path: str):
        """A POST without a key or a body."""
        return self._client.post(path, headers=self._headers)

    def confirm(self, body: Any = B0):
        """The confirm screen opens."""
        return self._client.post(
            "/v1/transfer-confirmations",
            json.dumps(body),
            content_type="application/json",
            headers=self._headers,
        )

    def list(self, path: str) -> dict[str, Any]:
        answer = self.get(path)
        assert answer.status_code == 200, answer.content
        return answer.json()
