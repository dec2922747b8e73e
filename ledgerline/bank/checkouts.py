"""The payment provider's desk, at which a customer pays us: what the bank needs of it."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Protocol, TypeAlias, cast

from django.conf import settings
from django.utils.module_loading import import_string

from fulfilment.connectors.base import Declined, NoInformation, NotFound, NotSent, Refused, Unknown
from fulfilment.connectors.secrets import with_files


class Checkout(Protocol):
    """There is a checkout under our reference, paid or not. `amount` in minor units."""

    @property
    def id(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def amount(self) -> int: ...
    @property
    def currency(self) -> str: ...
    @property
    def body(self) -> bytes:
        """The provider's object; its `metadata` is what we gave it."""


Opening: TypeAlias = Checkout | Declined | NotSent | Refused | Unknown
Finding: TypeAlias = Checkout | Declined | NotFound | NoInformation


class Desk(Protocol):
    """Opens a checkout once per reference, for ever: asked again it gives the one that is there."""

    def open(
        self,
        reference: str,
        *,
        amount: int,
        currency: str,
        metadata: Mapping[str, Any],
        deadline: timedelta,
    ) -> Opening:
        """Only NotSent and Refused prove that there is no checkout."""

    def find(self, reference: str) -> Finding:
        """What there is under the reference. Opens nothing."""


def desk() -> Desk:
    """The desk that the setting CHECKOUT_DESK names, built with the rest of that setting."""
    given: Any = settings.CHECKOUT_DESK["CLASS"]
    build = import_string(given) if isinstance(given, str) else given
    return cast("Desk", build(with_files(settings.CHECKOUT_DESK)))


def metadata_of(checkout: Checkout) -> Mapping[str, Any]:
    """What we gave the provider to keep with the checkout; empty if it says nothing of it."""
    try:
        kept = json.loads(checkout.body)["metadata"]
    except (ValueError, KeyError, TypeError):
        return {}
    return kept if isinstance(kept, dict) else {}
