"""`@gated`: a function, task, command or admin action that is done once per identity."""

import functools
import inspect
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from django.core.exceptions import ImproperlyConfigured

from idempotency.gate import declarations, naming
from idempotency.gate.claims import OnOutage, claim, refuse_combination
from idempotency.gate.declarations import Declaration
from idempotency.gate.errors import AlreadySettled
from idempotency.gate.identity import UNGATED, Ungated, identity_of
from idempotency.gate.naming import Naming

F = TypeVar("F", bound=Callable[..., Any])


def gated(
    action: str,
    *,
    target: Naming | Ungated = UNGATED,
    key: Naming | None = None,
    namespace: Naming | None = None,
    atomic: bool = False,
    lease: timedelta | None = None,
    on_outage: OnOutage = "refuse",
) -> Callable[[F], F]:
    """Run the function once for what its call names; every later call gets the first one's result.

    `target`, `key` and `namespace` say where in the call to look: the name of a parameter
    ("order_id"), an attribute of one ("order.pk"), or a function that takes the call's arguments. All
    else is as in `gate.claim`: the function's return settles the action, an exception holds it
    unless it is NothingHappened or `atomic` rolled it back. Raises InProgress, Held and Closed; and
    AlreadySettled where there is no result to return, because it could not be kept.

        @shared_task(autoretry_for=(NothingHappened,))
        @gated("refund.approve", target="refund_id")
        def approve(refund_id): ...

    Below `@shared_task` and `@admin.action`; on a command's `handle`. Raises ImproperlyConfigured
    for a name that the function does not take, and for coroutines and generators, whose work is not
    done when they return.
    """
    refuse_combination(atomic=atomic, on_outage=on_outage)
    identity_of(action)  # an unusable name is refused where it is written

    def decorate(function: F) -> F:
        _refuse_unfinished(function)
        for part in (target, key, namespace):
            naming.refuse_unknown(part, function=function)
        path = f"{function.__module__}.{function.__qualname__}"
        declarations.declare(Declaration(action, path, target, key))

        @functools.wraps(function)
        def once(*arguments: Any, **keywords: Any) -> Any:
            def said(part: Any) -> Any:
                return naming.value_of(
                    part, function=function, arguments=arguments, keywords=keywords
                )

            begun = False
            try:
                with claim(
                    action,
                    target=said(target),
                    key=_required(said(key), given=key),
                    namespace=said(namespace),
                    atomic=atomic,
                    lease=lease,
                    on_outage=on_outage,
                ) as mine:
                    begun = True
                    return mine.settle(function(*arguments, **keywords))
            except AlreadySettled as earlier:
                if begun or earlier.omitted:  # an inner action's, or nothing to return
                    raise
                return earlier.result

        return once  # type: ignore[return-value]

    return decorate


def _required(value: Any, *, given: Naming | None) -> Any:
    """A key that was declared and is not there is a mistake, not an action without a key."""
    if given is not None and value is None:
        raise ValueError("The key of an action is None: name it, or leave key= out.")
    return value


def _refuse_unfinished(function: Callable[..., Any]) -> None:
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise ImproperlyConfigured(
            f"{function.__qualname__} returns before its work is done, so nobody could say what "
            "became of it. Gate the plain function that does the work."
        )
