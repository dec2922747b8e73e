"""Which part of a call names the action: a parameter, an attribute of one, or a function of them all."""

import inspect
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, TypeAlias

from django.core.exceptions import ImproperlyConfigured

from idempotency.gate.identity import UNGATED, Ungated

# "order_id", "order.pk" or "options.day" (of **options); or what takes the call's own arguments.
Naming: TypeAlias = str | Callable[..., Any]

# What differs between two tries of one action, by the names that people give it.
_OF_ONE_TRY = re.compile(
    r"(?:^|_)(?:request|attempt|try|task|job|run|trace|span|correlation|message|delivery)_?(?:u?u)?id(?:_|$)"
    r"|(?:^|_)(?:uuid[14]|nonce|timestamp|now|utcnow|monotonic|random|retries)(?:_|$)"
)


def refuse_unknown(naming: Naming | Ungated | None, *, function: Callable[..., Any]) -> None:
    """Raises ImproperlyConfigured for a name that no call of the function can have."""
    if not isinstance(naming, str):
        return
    name = naming.split(".")[0]
    parameters = inspect.signature(function).parameters
    open_ended = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    if name not in parameters and not open_ended:
        raise ImproperlyConfigured(
            f"{function.__qualname__} has no parameter {name!r} to name the action by. "
            f"There are: {', '.join(parameters) or 'none'}."
        )


def value_of(
    naming: Naming | Ungated | None,
    *,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: Mapping[str, Any],
) -> Any:
    """What this call says. Raises TypeError for a call that the function itself would refuse."""
    if naming is None or isinstance(naming, Ungated):
        return naming
    if callable(naming):
        return naming(*arguments, **keywords)
    bound = inspect.signature(function).bind(*arguments, **keywords)
    bound.apply_defaults()
    first, *rest = naming.split(".")
    value = _named(first, bound)
    for attribute in rest:
        value = value[attribute] if isinstance(value, Mapping) else getattr(value, attribute)
    return value


def suspicious(naming: Naming | Ungated | None) -> str | None:
    """The name in it that changes between two tries of one action, if there is one."""
    for name in _names(naming):
        if _OF_ONE_TRY.search(name.replace(".", "_").lower()):
            return name
    return None


def _named(name: str, bound: inspect.BoundArguments) -> Any:
    if name in bound.arguments:
        return bound.arguments[name]
    for parameter in bound.signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            return bound.arguments[parameter.name][name]
    raise KeyError(name)


def _names(naming: Naming | Ungated | None) -> list[str]:
    if isinstance(naming, str):
        return [naming]
    code = getattr(naming, "__code__", None)
    if naming is None or naming is UNGATED or code is None:
        return []
    used = list(code.co_names)  # `self.request.id` is the pair request, id
    pairs = [f"{first}.{second}" for first, second in pairwise(used)]
    return [*used, *pairs, *code.co_varnames[: code.co_argcount]]
