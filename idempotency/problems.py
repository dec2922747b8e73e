"""Problems as answers: application/problem+json (RFC 9457) whose `type` is a page that explains it."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from idempotency import conf
from idempotency.contract import Answer
from idempotency.errors import Stated
from idempotency.kinds import CONTRACT, GATE, ProblemKind
from idempotency.tokens.errors import KINDS as TOKENS

__all__ = ["CONTENT_TYPE", "ProblemKind", "of_error", "problem", "register", "registered"]

CONTENT_TYPE = "application/problem+json"


_registered: dict[str, ProblemKind] = {kind.code: kind for kind in (*CONTRACT, *GATE, *TOKENS)}


def register(*kinds: ProblemKind) -> None:
    """Give codes their meaning and their pages; a later registration may say one in other words."""
    _registered.update({kind.code: kind for kind in kinds})


def registered() -> Mapping[str, ProblemKind]:
    """Every kind of problem by its code, in the order of registration."""
    return _registered


def problem(
    code: str, *, detail: str | None = None, headers: Iterable[tuple[str, str]] = (), **members: Any
) -> Answer:
    """The answer for a registered code; `members` join the body. KeyError for an unknown code.

    Without a `detail` of this very occurrence the body says what to do next.
    """
    kind = _registered[code]
    advice = {"retry": kind.retry, "safe_new_key": kind.safe_new_key}
    said = detail or kind.what_to_do
    return _answer(code, kind.status, kind.title, said, headers, {**advice, **members})


def of_error(error: Stated) -> Answer:
    """The answer that an error states about itself; its class decides, the registry explains."""
    seconds = getattr(error, "retry_after", None)
    headers = [] if seconds is None else [("Retry-After", str(seconds))]
    if error.status == 401:
        headers.append(
            ("WWW-Authenticate", "Bearer")
        )  # a 401 must name a scheme (RFC 9110, 11.6.1)
    advice = {"retry": error.retry, "safe_new_key": error.safe_new_key}
    members = {**advice, **error.members}
    said = error.detail or _what_to_do(error.code)
    return _answer(error.code, error.status, error.sentence(), said, headers, members)


def _what_to_do(code: str) -> str | None:
    kind = _registered.get(code)
    return None if kind is None else kind.what_to_do


def _answer(
    code: str,
    status: int,
    title: str,
    detail: str | None,
    headers: Iterable[tuple[str, str]],
    members: Mapping[str, Any],
) -> Answer:
    body = {"type": f"{conf.current().problem_base_url}{code}/", "title": title, "status": status}
    body |= {} if detail is None else {"detail": detail}
    body |= {"code": code, **members}
    content = json.dumps(body, ensure_ascii=False, default=str).encode("utf-8", "replace")
    return Answer(status, (("Content-Type", CONTENT_TYPE), *headers), content)
