"""A stored answer, opened: on record with who and why, and masked as IDEMPOTENCY["REDACT"] says."""

import logging
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.module_loading import import_string

from idempotency import conf, people, store, trail
from idempotency.contract import Answer
from idempotency.models import KeyListing
from idempotency.redaction import mask_text

log = logging.getLogger("idempotency")

VIEW_BODY = "idempotency.view_body"
_LONGEST = 50_000  # characters of a page; what is longer is cut, and says so
_HEAD = 256  # bytes of a dump


@dataclass(frozen=True, slots=True)
class Opened:
    """An answer as staff see it: text or, where it is none, the head of a dump."""

    status: int
    headers: tuple[tuple[str, str], ...]
    size: int
    text: str = ""
    dump: str = ""
    cut: bool = False
    trouble: str = ""


def open_answer(row: KeyListing, *, user: Any, reason: str) -> Opened | None:
    """Write down who opens it and why, then show it; None if there is no answer (any more).

    Raises NotPermitted and ReasonMissing.
    """
    actor, reason = people.allowed(user, VIEW_BODY), people.given(reason)
    found = store.read(row.user_id, row.key)
    if found is None or found.record.answer is None:
        return None
    with transaction.atomic(using=store.alias(None)):
        trail.note(
            actor=actor,
            action="body_opened",
            subject=trail.key_subject(row.user_id, row.key),
            reason=reason,
        )
    return _shown(row.operation, found.record.answer)


def _shown(operation: str, answer: Answer) -> Opened:
    headers = tuple((name, mask_text(value)) for name, value in answer.headers)
    kind = next((value for name, value in headers if name.lower() == "content-type"), "")
    try:
        body: bytes = import_string(conf.current().redact)(operation, answer.body, kind)
    except Exception as error:  # what the hook would have hidden is not known: nothing is shown
        log.exception("answer not shown", extra={"action": "redact_failed", "operation": operation})
        trouble = f"IDEMPOTENCY['REDACT'] failed ({type(error).__name__}), so nothing is shown."
        return Opened(answer.status, headers, len(answer.body), trouble=trouble)
    text = _text(body)
    if text is None:
        return Opened(answer.status, headers, len(answer.body), dump=_dump(body[:_HEAD]))
    cut = len(text) > _LONGEST
    return Opened(answer.status, headers, len(answer.body), text=text[:_LONGEST], cut=cut)


def _text(body: bytes) -> str | None:
    """The body as text; None for bytes that are none."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _dump(head: bytes) -> str:
    rows = (head[start : start + 16] for start in range(0, len(head), 16))
    return "\n".join(f"{number * 16:04x}  {row.hex(' ')}" for number, row in enumerate(rows))
