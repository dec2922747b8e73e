"""Single-use tokens: what a user has confirmed is carried out by one key, once."""

from idempotency.tokens.spending import Bindable, Claimed, Issued, digest_of, issue, spend
from idempotency.tokens.store import forget_all

__all__ = ["Bindable", "Claimed", "Issued", "digest_of", "forget_all", "issue", "spend"]
