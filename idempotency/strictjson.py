"""JSON with one meaning only (RFC 8259, RFC 7493). Pure: no Django, no I/O.

What two readers could read differently is refused: a byte order mark, other encodings than UTF-8,
a name twice in one object, NaN and infinities, more than 64 levels. One module for whoever compares
a body and whoever acts on it, so that both refuse the same bodies in the same words.
"""

import json
from collections.abc import Callable
from typing import Any, NoReturn

MAX_DEPTH = 64

_BOM = b"\xef\xbb\xbf"


class Unclear(ValueError):
    """The body is not JSON with one meaning; the text is a sentence without a piece of the body."""


def reader(
    *, integer: Callable[[str], Any], fraction: Callable[[str], Any]
) -> Callable[[bytes], Any]:
    """A function from a body to its value. Numbers are made by the hooks from the text as written.

    The function raises Unclear, and whatever a hook raises.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=_object,
        parse_int=integer,
        parse_float=fraction,
        parse_constant=_refuse_constant,
    )

    def read(body: bytes) -> Any:
        value = _decoded(decoder, body)
        _refuse_depth(value)
        return value

    return read


def _decoded(decoder: json.JSONDecoder, body: bytes) -> Any:
    if body.startswith(_BOM):
        raise Unclear("The body starts with a byte order mark; send plain UTF-8 without it.")
    try:
        return decoder.decode(body.decode("utf-8"))
    except UnicodeDecodeError:
        raise Unclear("The body is not UTF-8.") from None
    except RecursionError:  # far above 64 levels
        raise Unclear(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Unclear(f"The body is not JSON: {error.msg} at {where}.") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Unclear("An object names the same field twice.")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise Unclear(f"{name} is not a JSON number.")


def _refuse_depth(value: Any) -> None:
    level, depth = [value], 0
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise Unclear(_TOO_DEEP)
        level = [item for outer in level for item in _items(outer)]


def _items(outer: dict[str, Any] | list[Any]) -> list[Any]:
    return list(outer.values()) if isinstance(outer, dict) else outer


_TOO_DEEP = f"The body nests deeper than {MAX_DEPTH} levels."
