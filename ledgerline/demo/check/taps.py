"""What the stories' customer does: Ada pays Bola, here or at another bank."""

from typing import Any

from ledgerline.demo.check.phone import Phone, Seen
from ledgerline.demo.check.system import System

BANK = "058"


def phone(system: System) -> Phone:
    """Ada's; close it, or use it with `with`."""
    return Phone(system.base_url, system.users["ada"]["token"])


def on_us(system: System, *, amount: int, narration: str) -> dict[str, Any]:
    """A transfer to an account of the same bank."""
    payee = system.users["bola"]["account"]
    return {"toAccount": payee, "amount": amount, "currency": "NGN", "narration": narration}


def external(system: System, *, amount: int, narration: str) -> dict[str, Any]:
    """A transfer that the provider has to make."""
    return on_us(system, amount=amount, narration=narration) | {"toBank": BANK}


def taken(first: Seen) -> Seen:
    """An external transfer answers 202 first."""
    assert first.status == 202, f"expected 202 first, not {first.status}: {first.body!r}"
    return first


def paid(final: Seen) -> Seen:
    """What the phone must see in the end."""
    assert final.status == 201, f"the retry got {final.status}: {final.body!r}"
    return final
