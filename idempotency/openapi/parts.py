"""What a guarded operation says of itself, as pieces of an OpenAPI document."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from idempotency import problems
from idempotency.contract import OMITTED, REPLAYED
from idempotency.problems import CONTENT_TYPE

Schema = dict[str, Any]

NAME = "Problem"
_REF = f"#/components/schemas/{NAME}"

# Both forms of a key: bare, and as a string of RFC 9651 whose parameters are ignored.
PATTERN = r'^(?:[!#-+\--~][!-+\--~]{0,254}|"(?:[!#-+\--\[\]-~]|\\["\\]){1,255}"(?: *;.*)?)$'

PROBLEM: Schema = {
    "type": "object",
    "description": "application/problem+json (RFC 9457) that says what to do next.",
    "properties": {
        "type": {
            "type": "string",
            "format": "uri-reference",
            "description": "The page that explains it.",
        },
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "description": "Stable: decide by this, never by a text."},
        "retry": {
            "type": "string",
            "enum": ["same_key", "new_key", "after", "never"],
            "description": "How the request may be sent again.",
        },
        "safe_new_key": {
            "type": "boolean",
            "description": "True if nothing was done under this key, nor will be.",
        },
    },
    "required": ["type", "title", "status", "code", "retry", "safe_new_key"],
}

_REPLAY_HEADERS: Schema = {
    REPLAYED: {
        "schema": {"type": "string", "enum": ["true"]},
        "description": "There if this is the stored answer of an earlier request with the key.",
    },
    OMITTED: {
        "schema": {"type": "string", "enum": ["true"]},
        "description": "There on a replay whose body was too large to keep.",
    },
}
_RETRY_AFTER: Schema = {
    "Retry-After": {
        "schema": {"type": "integer", "minimum": 1},
        "description": "Seconds after which the same request may be sent with the same key.",
    }
}
# Said before the handler decides, or "not now": such an answer is never stored.
_NEVER_REPLAYED = frozenset({"401", "405", "406", "409", "413", "415", "425", "429"})
_LATER = frozenset({"in_progress", "unavailable", "outcome_unknown"})


def key_parameter(*, required: bool) -> Schema:
    """The header that names the action."""
    return {
        "in": "header",
        "name": "Idempotency-Key",
        "required": required,
        "description": "One per action of the user, the same on every try of it: a UUID, bare or as a "
        "quoted string. Visible ASCII without a comma, 1 to 255 characters.",
        "schema": {"type": "string", "pattern": PATTERN},
        "examples": {
            "bare": {"value": "6f1c2b9a-3a2e-4a51-9a43-0d6cf5d0c1b7"},
            "quoted": {"value": '"6f1c2b9a-3a2e-4a51-9a43-0d6cf5d0c1b7"'},
        },
    }


def problem_responses(*codes: str) -> dict[tuple[int, str], Schema]:
    """The responses of these registered problems, for `extend_schema(responses=…)`.

    KeyError for a code that is not registered.
    """
    return {(status, CONTENT_TYPE): _problem(named) for status, named in _by_status(codes).items()}


def contract_codes(*, mode: str, required: bool) -> list[str]:
    """The codes of the contract's own problems that a guarded operation may answer with."""
    codes = ["key_missing"] if required else []
    codes += ["key_invalid", "body_invalid", "unauthenticated", "in_progress", "body_too_large"]
    codes += ["key_reused", "unavailable"]
    return [*codes, "outcome_unknown"] if mode == "leased" else codes


def mark_replays(responses: Schema) -> None:
    """Add the marker to what may be replayed: what the handler itself is said to answer."""
    for status, response in responses.items():
        if status[0] in "234" and status not in _NEVER_REPLAYED:
            response["headers"] = deepcopy(_REPLAY_HEADERS) | response.get("headers", {})


def add_problems(responses: Schema, codes: Iterable[str]) -> None:
    """Add problems to what is there already, status by status."""
    for status, named in _by_status(codes).items():
        response = responses.setdefault(str(status), {"description": ""})
        content = response.setdefault("content", {})
        content[CONTENT_TYPE] = {"schema": _joined(content.get(CONTENT_TYPE, {}), named)}
        if _LATER & set(named):
            response["headers"] = deepcopy(_RETRY_AFTER) | response.get("headers", {})


def describe(responses: Schema) -> bool:
    """Say in words what each code means, where nobody has; True if there is any problem at all."""
    found = False
    for response in responses.values():
        codes = _codes(response.get("content", {}).get(CONTENT_TYPE, {}))
        found = found or bool(codes)
        if codes and not response["description"]:
            known = problems.registered()
            response["description"] = "\n".join(
                f"* `{code}`: {known[code].title}" for code in codes
            )
    return found


def _problem(codes: Iterable[str]) -> Schema:
    narrowed = {
        "type": "object",
        "properties": {"code": {"type": "string", "enum": list(codes)}},
    }
    return {"allOf": [{"$ref": _REF}, narrowed]}


def _joined(given: Mapping[str, Any], codes: list[str]) -> Schema:
    """One list of codes; beside a schema that somebody else wrote, either of the two."""
    theirs = given.get("schema")
    known = _codes(given)
    ours = _problem(dict.fromkeys([*codes, *known]))
    return ours if known or theirs is None else {"anyOf": [theirs, ours]}


def _codes(content: Mapping[str, Any]) -> list[str]:
    match content.get("schema"):
        case {"allOf": [{"$ref": reference}, {"properties": {"code": {"enum": codes}}}]}:
            return list(codes) if reference == _REF else []
        case _:
            return []


def _by_status(codes: Iterable[str]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for code in codes:
        found.setdefault(problems.registered()[code].status, []).append(code)
    return found
