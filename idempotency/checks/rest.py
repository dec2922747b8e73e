"""What REST framework would use for a guarded view. Only whoever has such views imports it."""

from typing import Any

from idempotency.routes import Guarded


def rest_setting(guarded: Guarded, name: str, *, asked: str) -> list[Any] | None:
    """The classes that the view's setting `name` names.

    None for other views, and where the view has its own idea of the method that is `asked` for them.
    """
    view: Any = guarded.view
    if not hasattr(view, name) or _decides_itself(view, asked):
        return None
    given = getattr(guarded.callback, "initkwargs", None) or {}
    classes = given.get(name, getattr(view, name))
    return list(classes) if isinstance(classes, list | tuple) else None


def _decides_itself(view: Any, method: str) -> bool:
    from rest_framework.views import APIView  # only its views have these settings

    return getattr(view, method, None) is not getattr(APIView, method)
