"""What makes an action unique, and the name it is claimed under."""

import re
from dataclasses import replace

import pytest

from idempotency.gate.identity import Identity, identity_of
from idempotency.gate.naming import suspicious
from idempotency.uniqueness import unique_with_null

WHOLE = Identity("refund.approve", target="r-1", key="line-1", namespace="north")


def test_a_slot_is_a_short_legal_name_and_stays_the_same_for_ever() -> None:
    assert Identity("refund.approve", target="r-1").slot == "claim_c316b0b7e5d374231e6344b0", (
        "slots that are on record would not be found any more, and their actions would run again"
    )
    assert re.fullmatch(r"claim_[0-9a-f]{24}", WHOLE.slot)


@pytest.mark.parametrize(
    "other",
    [
        replace(WHOLE, action="refund.deny"),
        replace(WHOLE, target="r-2"),
        replace(WHOLE, key="line-2"),
        replace(WHOLE, namespace="south"),
        replace(WHOLE, namespace=None),
        replace(WHOLE, namespace=""),
        replace(WHOLE, target="line-1", key="r-1"),
        replace(WHOLE, target='r-1","line-1', key=""),
    ],
)
def test_every_part_of_the_identity_is_in_the_slot(other: Identity) -> None:
    assert other.slot != WHOLE.slot, f"{other} would share a slot with {WHOLE}"


def test_no_target_and_no_key_is_no_identity() -> None:
    assert identity_of("cache.warm") is None
    assert identity_of("cache.warm", key="k") == Identity("cache.warm", key="k")


@pytest.mark.parametrize(
    "name", ["request_id", "order.attempt_id", "self.request.id", "now", "run_uuid"]
)
def test_the_id_of_one_try_is_suspicious(name: str) -> None:
    assert suspicious(name) == name


@pytest.mark.parametrize(
    "name", ["order_id", "requested_id", "known", "refund.pk", "day", "nowhere"]
)
def test_the_name_of_a_thing_is_not(name: str) -> None:
    assert suspicious(name) is None


def test_one_declaration_gives_either_form_of_the_constraint() -> None:
    said = {"fields": ["address"], "nullable": "namespace", "name": "place_taken"}
    [whole] = unique_with_null(**said)
    assert (whole.fields, whole.nulls_distinct) == (("address", "namespace"), False)
    without, within = unique_with_null(**said, portable=True)
    assert (without.fields, without.name) == (("address",), "place_taken_without")
    assert (within.fields, within.name) == (("address", "namespace"), "place_taken_within")
    assert str(without.condition) == "(AND: ('namespace__isnull', True))"
    assert str(within.condition) == "(NOT (AND: ('namespace__isnull', True)))"
