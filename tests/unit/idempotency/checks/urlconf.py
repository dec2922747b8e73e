"""URLs made on the spot: the project that a check is to look at."""

from collections.abc import Callable, Sequence
from typing import Any

from django.core.checks import CheckMessage
from django.urls import path


def routed(settings: Any, *views: Any) -> None:
    """These views, and no others, are the project's."""
    patterns = [path(f"view-{n}/", view) for n, view in enumerate(views)]
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": patterns})


def ids(check: Callable[..., Sequence[CheckMessage]], **given: Any) -> list[str]:
    """What the check says, by number; every message has a remedy."""
    found = check(**given)
    assert all(message.hint for message in found), f"a message without a remedy: {found}"
    return [str(message.id).removeprefix("idempotency.") for message in found]
