"""The schema class that finds guarded handlers, under whatever decorators they stand."""

import inspect
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from drf_spectacular.openapi import AutoSchema as SpectacularSchema
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent

from idempotency.decorators import guard_of
from idempotency.openapi import parts
from idempotency.serving import Guard

_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class IdempotentSchema:
    """Adds to each guarded operation its header, its problems and `x-idempotent`."""

    view: Any

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> dict[str, Any] | None:
        """The operation as the schema class behind this one describes it, and what the guard adds."""
        operation: dict[str, Any] | None = super().get_operation(  # type: ignore[misc]
            path, path_regex, path_prefix, method, registry
        )
        if operation is None:
            return None
        guard = None if method.upper() in _SAFE else _guard(self.view, method)
        if guard is not None:
            _add(operation, guard)
        if parts.describe(operation["responses"]):
            registry.register_on_missing(_component())
        return operation


class AutoSchema(IdempotentSchema, SpectacularSchema):
    """drf-spectacular's schema class with guarded operations: name it as DEFAULT_SCHEMA_CLASS."""


def _add(operation: dict[str, Any], guard: Guard) -> None:
    parameters = operation.setdefault("parameters", [])
    if not any(_is_key(parameter) for parameter in parameters):
        parameters.insert(0, parts.key_parameter(required=guard.required))
    parts.mark_replays(operation["responses"])
    codes = parts.contract_codes(mode=guard.mode, required=guard.required)
    parts.add_problems(operation["responses"], codes)
    operation["responses"] = dict(sorted(operation["responses"].items()))
    operation["x-idempotent"] = {
        "mode": guard.mode,
        "required": guard.required,
        "operation": guard.operation,
    }


def _is_key(parameter: dict[str, Any]) -> bool:
    return parameter.get("in") == "header" and parameter["name"].lower() == "idempotency-key"


def _guard(view: Any, method: str) -> Guard | None:
    """The guard of the handler that REST framework calls for the method."""
    name = getattr(view, "action_map", None) or {}
    handler: Any = getattr(view, name.get(method.lower(), method.lower()), None)
    return handler and (guard_of(handler) or guard_of(_function(handler)))


def _function(handler: Callable[..., Any]) -> Any:
    """The function inside the method that `@api_view` makes of it."""
    plain = getattr(handler, "__func__", handler)
    return (
        inspect.getclosurevars(plain).nonlocals.get("func") if inspect.isfunction(plain) else None
    )


def _component() -> ResolvedComponent:
    return ResolvedComponent(  # type: ignore[no-untyped-call]
        name=parts.NAME,
        type=ResolvedComponent.SCHEMA,
        schema=deepcopy(parts.PROBLEM),  # drf-spectacular moves its enums elsewhere
        object=parts.NAME,
    )
