"""Problems as answers: application/problem+json (RFC 9457) whose `type` is a page that explains it."""

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from idempotency import conf
from idempotency.contract import Answer
from idempotency.errors import Stated
from idempotency.kinds import CONTRACT, GATE, ProblemKind
from idempotency.tokens.errors import KINDS as TOKENS

__all__ = [
    "CONTENT_TYPE",
    "ProblemKind",
    "explained",
    "of_error",
    "problem",
    "register",
    "registered",
]

CONTENT_TYPE = "application/problem+json"


_registered: dict[str, ProblemKind] = {kind.code: kind for kind in (*CONTRACT, *GATE, *TOKENS)}


def register(*kinds: ProblemKind) -> None:
    """Give codes their meaning and their pages; a later registration may say one in other words."""
    _registered.update({kind.code: kind for kind in kinds})


def registered() -> Mapping[str, ProblemKind]:
    """Every kind of problem by its code, in the order of registration."""
    return _registered


def explained(code: str) -> ProblemKind | None:
    """The kind of a code; of one that nobody registered, what its class says of itself."""
    return _registered.get(code) or next(
        (_of_class(each) for each in _stated() if vars(each).get("code") == code), None
    )


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


def _of_class(error: type[Stated]) -> ProblemKind:
    return ProblemKind(
        code=error.code,
        title=error.sentence(),
        status=error.status,
        retry=error.retry,
        meaning=inspect.getdoc(error) or error.sentence(),
        what_to_do="Read what the answer says besides; it is about this very request.",
        safe_new_key=error.safe_new_key,
    )


def _stated(root: type[Stated] = Stated) -> Iterator[type[Stated]]:
    """Every class of errors that are answers, as far as its module is imported."""
    for each in root.__subclasses__():
        yield each
        yield from _stated(each)


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
