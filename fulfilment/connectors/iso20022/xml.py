"""XML of a bank, read without obeying it. Pure.

No document type, so no entities and nothing from elsewhere; bounded in size and depth. Names are
read without their namespace: banks send several versions of one message, and differ in it only.
"""

from collections.abc import Iterator
from io import BytesIO
from typing import Final
from xml.etree.ElementTree import Element, ParseError, tostring

from defusedxml.ElementTree import iterparse

MAX_BYTES: Final = 8 << 20  # a day's statement of a busy account
MAX_DEPTH: Final = 32  # the deepest of these messages has 14


class XmlRefused(ValueError):
    """This is not XML that may be read."""


def parse(body: bytes) -> Element:
    """The document. Raises `XmlRefused`, for whatever is wrong with it."""
    if len(body) > MAX_BYTES:
        raise XmlRefused(f"The message has more than {MAX_BYTES} bytes.")
    try:
        return _parsed(body)
    except XmlRefused:
        raise
    except (ParseError, ValueError, LookupError) as error:  # entities, encodings, syntax
        raise XmlRefused(f"The message cannot be read: {type(error).__name__}.") from error


def _parsed(body: bytes) -> Element:
    depth = 0
    root: Element | None = None
    for event, element in iterparse(BytesIO(body), ("start", "end"), forbid_dtd=True):
        depth += 1 if event == "start" else -1
        if depth > MAX_DEPTH:
            raise XmlRefused(f"The message is nested more than {MAX_DEPTH} deep.")
        root = element if root is None else root
    if root is None:
        raise XmlRefused("The message is empty.")
    return root


def name(element: Element) -> str:
    """Its name without the namespace."""
    return str(element.tag).rpartition("}")[2]


def children(element: Element | None, *path: str) -> Iterator[Element]:
    """All elements under this path of names."""
    if element is None:
        return
    first, *rest = path
    for child in element:
        if name(child) == first:
            if rest:
                yield from children(child, *rest)
            else:
                yield child


def child(element: Element | None, *path: str) -> Element | None:
    """The first element under this path, or None."""
    return next(children(element, *path), None)


def text(element: Element | None, *path: str) -> str:
    """The text of the first element under this path; empty where there is none."""
    found = child(element, *path) if path else element
    return (found.text or "").strip() if found is not None else ""


def written(element: Element) -> str:
    """The element as XML again."""
    return tostring(element, encoding="unicode")
