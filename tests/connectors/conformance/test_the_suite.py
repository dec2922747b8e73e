"""A connector that gets one thing wrong fails the test of that thing, with a message that says it."""

import inspect
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from fulfilment.testing.conformance import Conformance, Fault, Rig, world
from tests.connectors.conformance import broken, sandbox_rig
from tests.connectors.conformance.broken import Broken

pytestmark = [pytest.mark.processes, pytest.mark.django_db, pytest.mark.long]

SILENCE = "test_what_is_done_in_silence_is_unknown_and_never_failed"
BROKEN = [
    Broken(
        connector=broken.DeclinesWhatTimesOut,
        test=SILENCE,
        given=(Fault.LOST_ANSWER,),
        says="after lost_answer nobody can know, and it is failed",
    ),
    Broken(
        connector=broken.TakesSilenceForNothing,
        test=SILENCE,
        given=(Fault.LOST_ANSWER,),
        says="nobody can know, and it is pending",
    ),
    Broken(
        connector=broken.TakesAnErrorForARefusal,
        test=SILENCE,
        given=(Fault.SERVER_ERROR,),
        says="nobody can know, and it is pending",
    ),
    Broken(
        connector=broken.TakesAnySuccessForDone,
        test=SILENCE,
        given=(Fault.ODD_SUCCESS,),
        says="nobody can know, and it is fulfilled",
    ),
    Broken(
        connector=broken.FailsWhatIsTurnedAway,
        test="test_a_refusal_for_a_reason_of_ours_waits_and_goes_again",
        says="the same reference goes again; it is failed",
    ),
    Broken(
        connector=broken.FailsWhatExists,
        test="test_a_duplicate_is_looked_up_and_never_failed",
        says="it was done, and is needs_reconciliation.*not_done  duplicate reference",
    ),
    Broken(
        connector=broken.FailsWhatExists,
        test="test_a_reference_that_is_known_is_not_done_again",
        says="the reference exists, and Declined",
    ),
    Broken(
        connector=broken.BelievesThatItGotWhatItWanted,
        test="test_another_amount_currency_or_recipient_is_a_conflict_and_posts_nothing",
        given=(Fault.WRONG_AMOUNT,),
        says="wrong_amount, and it was posted",
    ),
    Broken(
        connector=broken.FollowsRedirects,
        test="test_a_redirect_is_not_followed",
        says="the redirect was followed",
    ),
    Broken(
        connector=broken.SendsAgainByItself,
        test="test_an_attempt_is_one_call",
        says="one attempt made 2 calls",
    ),
    Broken(
        connector=broken.LogsItsHeaders,
        test="test_no_secret_and_no_account_is_shown",
        says="is shown in .*a log",
    ),
    Broken(
        connector=broken.LogsWhomItPays,
        test="test_no_secret_and_no_account_is_shown",
        says="is shown in .*a log",
    ),
    Broken(
        connector=broken.FindsNothingWhereItIsNotLetIn,
        test="test_wrong_credentials_fail_nobodys_payment",
        says="nobody was let in, and it says NotFound",
    ),
    Broken(
        connector=broken.FindsNothingWhereItIsNotLetIn,
        test="test_an_outage_tells_a_look_up_nothing",
        given=(Fault.SERVER_ERROR,),
        says="taken for NotFound",
    ),
    Broken(
        connector=broken.SendsInOrderToAsk,
        test="test_building_and_asking_begin_nothing",
        says="one look-up is not one call",
    ),
    Broken(
        connector=broken.WaitsForEachByte,
        test="test_a_call_ends_at_its_deadline",
        given=(Fault.TRICKLE,),
        says="a read time-out begins anew with every byte",
    ),
    Broken(
        connector=broken.WaitsForEachByte,
        test="test_an_answer_without_end_is_not_read_to_its_end",
        says="anybody can fill our memory",
    ),
    Broken(
        connector=broken.KeepsItsFirstSecret,
        test="test_replaced_credentials_work_without_a_restart",
        says="the new credentials are in their file",
    ),
    Broken(
        connector=broken.QuotesItsSettings,
        test="test_missing_credentials_are_named_and_not_shown",
        says="(?s)SECRET.*something is wrong with the settings",
    ),
    Broken(
        connector=broken.CutsTheReference,
        test="test_our_name_for_it_arrives_whole",
        says="under another name",
    ),
    Broken(
        connector=broken.TakesWhatCameBackForDone,
        test="test_what_comes_back_later_is_reversed_once",
        says="it came back, and is fulfilled",
    ),
    Broken(
        connector=broken.BelievesEverybody,
        test="test_what_the_provider_did_not_sign_is_refused_and_not_kept",
        given=("forged",),
        says="answered 200 instead of 401",
    ),
    Broken(
        connector=broken.ForgetsTheTime,
        test="test_a_signature_of_another_time_proves_nothing",
        given=(timedelta(minutes=6),),
        says="answered 200 instead of 401",
    ),
    Broken(
        connector=broken.NamesTheDelivery,
        test="test_an_event_that_comes_again_changes_nothing",
        says="each delivery is taken for an event of its own",
    ),
]


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with sandbox_rig.running() as rig:
        yield rig


@pytest.mark.parametrize(
    "wrong", BROKEN, ids=lambda wrong: f"{wrong.connector.__name__}-{wrong.test}"
)
def test_what_is_wrong_is_seen_and_said(
    rig: Rig, wrong: Broken, caplog: pytest.LogCaptureFixture
) -> None:
    test: Any = getattr(Conformance(), wrong.test)
    needed = {"caplog": caplog} if "caplog" in inspect.signature(test).parameters else {}
    with world(rig, wrong.connector) as made, pytest.raises(AssertionError, match=wrong.says):
        test(made, *wrong.given, **needed)
