"""What an action came to, as it is kept: JSON, so that every later caller gets what the first got."""

import json
import logging
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from idempotency import conf

log = logging.getLogger("idempotency")


def encoded(result: Any, *, action: str) -> str | None:
    """The result as ASCII JSON; times, UUIDs and decimals as text.

    None, and a log line, for what is no JSON or larger than MAX_RESPONSE_BYTES: the action happened,
    and is neither undone nor repeated because its result cannot be kept.
    """
    try:
        text = json.dumps(result, cls=DjangoJSONEncoder)
    except (TypeError, ValueError, RecursionError):
        text = None
    if text is not None and len(text) <= conf.current().max_response_bytes:
        return text
    log.warning(
        "the result of an action is not kept",
        extra={"action": "gate_result_omitted", "operation": action, "type": type(result).__name__},
    )
    return None


def decoded(text: str | None) -> Any:
    """The result again; None also where it was not kept."""
    return None if text is None else json.loads(text)
