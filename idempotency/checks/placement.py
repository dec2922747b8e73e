"""Guards that cannot do their work where they stand."""

import inspect
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any

from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning
from django.db import DEFAULT_DB_ALIAS, transaction

from idempotency import conf, routes, serving
from idempotency.decorators import guard_of
from idempotency.routes import Guarded

_SAFE = {method.lower() for method in serving.SAFE}


def check_placement(**_: object) -> Sequence[CheckMessage]:
    """E012, W012 and W014, once for each guarded operation."""
    found = [message for each in routes.guarded() for message in _each(each)]
    return list({(message.id, message.msg): message for message in found}.values())


def check_inheritance(**_: object) -> Sequence[CheckMessage]:
    """E019 and W019: guards that a class of views has, but not where its handler runs."""
    found = [message for each in routes.views() for message in _of_class(*each)]
    return list({(message.id, message.msg): message for message in found}.values())


def _of_class(route: str, callback: Any, view: type) -> Iterator[CheckMessage]:
    where = f"{view.__module__}.{view.__qualname__}"
    dispatch = inspect.getattr_static(view, "dispatch", None)
    if guard_of(dispatch) is not None and hasattr(view, "perform_authentication"):
        yield Error(
            f"{where} ({route!r}) is guarded around dispatch(): REST framework authenticates, "
            "permits and throttles inside it, so a replay passes all of that by.",
            hint="Put @idempotent on the method (post), where all of that has run.",
            id="idempotency.E019",
        )
    for name in routes.handlers(callback):
        if _hides_a_guard(view, name) and guard_of(dispatch) is None:
            yield CheckWarning(
                f"{where}.{name} ({route!r}) overrides a guarded handler and is not guarded: what "
                "it does itself is done again by every retry.",
                hint="Guard it, and let it call a method that is not guarded.",
                id="idempotency.W019",
            )


def _hides_a_guard(view: type, name: str) -> bool:
    """Is the first of its classes that has the method unguarded, and a later one guarded?"""
    chain = [vars(each)[name] for each in view.__mro__ if name in vars(each)]
    guards = [guard_of(each) is not None for each in chain]
    return bool(guards) and not guards[0] and any(guards)


def _each(guarded: Guarded) -> Iterator[CheckMessage]:
    yield from _inside_a_transaction(guarded)
    if guarded.methods is not None and not guarded.methods:
        yield from _unreachable(guarded)
    elif guarded.methods is not None and guarded.methods <= _SAFE:
        yield from _safe_only(guarded)


def _inside_a_transaction(guarded: Guarded) -> Iterator[CheckMessage]:
    alias = conf.current().database
    if any(alias in _transactions(layer) for layer in guarded.layers):
        yield Error(
            f"{guarded.guard.operation} ({guarded.route!r}) is guarded inside transaction.atomic(): "
            "its stored answer would commit with somebody else's transaction, or not at all.",
            hint="Take transaction.atomic() away from the view and its dispatch(), or put it below "
            "@idempotent; in atomic mode the guard has a transaction around the handler anyway.",
            id="idempotency.E012",
        )


def _unreachable(guarded: Guarded) -> Iterator[CheckMessage]:
    yield CheckWarning(
        f"{guarded.guard.operation} ({guarded.route!r}) is guarded, but http_method_names of its "
        "view lets no request through to it.",
        hint="Name its method there, or take the handler away.",
        id="idempotency.W014",
    )


def _safe_only(guarded: Guarded) -> Iterator[CheckMessage]:
    yield CheckWarning(
        f"{guarded.guard.operation} ({guarded.route!r}) is guarded, but only GET, HEAD, OPTIONS or "
        "TRACE lead there, and they ignore the Idempotency-Key.",
        hint="Take @idempotent away; or, if this handler changes anything, let POST lead there.",
        id="idempotency.W012",
    )


def _transactions(layer: Any) -> set[str]:
    """On which databases this one layer opens a transaction around what it calls.

    `atomic` keeps itself in the closure of the function it makes; `method_decorator(atomic)` keeps
    the decorator there until the method is called.
    """
    if not isinstance(layer, FunctionType):
        return set()
    kept = [value for cell in layer.__closure__ or () for value in _contents(cell)]
    blocks = {block.using or DEFAULT_DB_ALIAS for block in kept if isinstance(block, _ATOMIC)}
    return blocks | ({DEFAULT_DB_ALIAS} if transaction.atomic in kept else set())


def _contents(cell: Any) -> list[Any]:
    try:
        value = cell.cell_contents
    except ValueError:  # not filled yet
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


_ATOMIC = transaction.Atomic
