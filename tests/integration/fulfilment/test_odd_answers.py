"""Answers that no column takes, or only cut: kept, and never taken for what they do not say."""

from typing import Any

import pytest

from fulfilment.connectors.base import Declined, Done, Instruction
from fulfilment.dispatch import attempt
from fulfilment.models import Case
from fulfilment.reconcile import lookups
from tests.integration.fulfilment.support import due, now, start

pytestmark = pytest.mark.django_db

OURS: dict[str, Any] = {"amount": 500, "currency": "NGN"}


@pytest.mark.parametrize(
    "odd",
    [
        {"provider_id": "pay\0 1"},
        {"provider_id": "\ud800"},
        {"status": "x" * 10_000},
        {"recipient": "Ada\0"},
        {"provider_id": 4711},
    ],
    ids=repr,
)
def test_an_answer_with_words_that_no_column_takes_is_kept(odd, provider) -> None:
    row = start()
    provider.will.append(lambda _: Done(**(OURS | odd)))
    attempt.run(row.pk)
    assert now(row).state == "fulfilled", (
        "what the provider said is lost, and lost again when asked"
    )


@pytest.mark.parametrize(
    "other", [{"amount": 10**30}, {"amount": 500.9}, {"currency": "NGNX"}], ids=repr
)
def test_what_fits_only_when_it_is_cut_does_not_agree_with_us(other, provider) -> None:
    row = start()
    provider.will.append(lambda _: Done(**(OURS | other)))
    attempt.run(row.pk)
    assert now(row).state == "needs_reconciliation", "cut to our amount or currency, it was paid"
    assert Case.objects.get().reason == "conflict"


def test_such_an_answer_to_a_question_reaches_a_person(provider, monkeypatch) -> None:
    row = start()
    provider.will.append("lose_answer")
    attempt.run(row.pk)
    monkeypatch.setattr(provider, "look_up", lambda _: Done(amount=2**63, currency="NGN"))
    due(row)
    lookups.look_up_due()
    assert Case.objects.get().reason == "conflict", "asked for ever, and nobody hears of it"


def test_a_refusal_in_words_that_no_column_takes_is_a_refusal(provider) -> None:
    def declined(_: Instruction) -> Declined:
        return Declined(reason="no\0 \ud83d" + "x" * 600)

    row = start()
    provider.will.append(declined)
    attempt.run(row.pk)
    assert now(row).state == "failed"
