"""Where the pages are, what is posted, and how a page reads."""

import re
from html import unescape
from typing import Any

from django.urls import reverse

from fulfilment.models import Fulfilment

QUEUE = "/admin/fulfilment/reconciliation/"
VERDICT = {"evidence_reference": "statement 0042/7", "note": "Seen on the statement."}


def case(row: Fulfilment) -> str:
    return reverse("admin:fulfilment_reconciliation_change", args=[row.pk])


def step(row: Fulfilment, name: str) -> str:
    return reverse(f"admin:fulfilment_reconciliation_{name}", args=[row.pk])


def verdict(row: Fulfilment, value: str, **more: Any) -> dict[str, Any]:
    return VERDICT | {"verdict": value, "version": row.version} | more


def text(response: Any) -> str:
    """The page as it reads: no tags, entities resolved, white space squeezed."""
    plain = re.sub(r"<[^>]+>", " ", response.content.decode())
    return re.sub(r"\s+", " ", unescape(plain)).replace("\u00a0", " ")
