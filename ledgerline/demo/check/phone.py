"""A phone: one key per tap, patient retries, and what it finally saw."""

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx2


@dataclass(frozen=True, slots=True)
class Seen:
    """One answer, as the phone saw it."""

    status: int
    body: bytes
    replayed: bool
    location: str | None

    @property
    def final(self) -> bool:
        """202 and 409 say "wait"; 5xx says "again"; all else is an answer."""
        return self.status not in (202, 409) and self.status < 500


@dataclass(slots=True)
class Phone:
    """A client with one bearer token and one connection; `with` closes it."""

    base_url: str
    token: str
    patience: float = 30.0
    path: str = "/v1/transfers"
    client: httpx2.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = httpx2.Client(base_url=self.base_url, timeout=30, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.client.close()

    def send(self, body: Mapping[str, Any], *, key: str) -> Seen:
        """One POST, no retry."""
        return self._once(body, key)[0]

    def until_final(self, body: Mapping[str, Any], *, key: str) -> Seen:
        """The same POST with the same key until the answer is final.

        Raises `TimeoutError` when patience ends.
        """
        deadline = time.monotonic() + self.patience
        while True:
            seen, wait = self._once(body, key)
            if seen.final:
                return seen
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"no final answer after {self.patience:g} s; last was {seen.status}: {seen.body!r}"
                )
            time.sleep(min(wait, 1.0))

    def get(self, path: str) -> dict[str, Any]:
        """The JSON at a path."""
        answer = self.client.get(path, headers=self._headers())
        answer.raise_for_status()
        return dict(answer.json())

    def _once(self, body: Mapping[str, Any], key: str) -> tuple[Seen, float]:
        answer = self.client.post(
            self.path, json=body, headers=self._headers() | {"Idempotency-Key": key}
        )
        seen = Seen(
            status=answer.status_code,
            body=answer.content,
            replayed=answer.headers.get("Idempotent-Replayed") == "true",
            location=answer.headers.get("Location"),
        )
        return seen, float(answer.headers.get("Retry-After", "1"))

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


def new_key() -> str:
    """One per tap."""
    return str(uuid.uuid4())
