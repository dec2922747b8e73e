"""Many small actions at once: each scan at the till counts once, however often its batch comes."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import F

from idempotency import gate

from .models import Item


def count(scans: Sequence[Mapping[str, Any]], *, till: str) -> list[str]:
    """recorded, deduplicated or conflict for each scan, in their order."""
    items = [gate.Item(key=scan["id"], values={"sku": scan["sku"]}) for scan in scans]
    with transaction.atomic():  # so that the slots commit with what is done for them
        outcomes = gate.claim_many("scan.count", items, namespace=till)
        for scan, outcome in zip(scans, outcomes, strict=True):
            if outcome.verdict is gate.Verdict.RECORDED:
                Item.objects.filter(sku=scan["sku"]).update(left=F("left") - 1)
    return [outcome.verdict.value for outcome in outcomes]
