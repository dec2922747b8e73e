"""Who was paid: compared whole, kept masked; no database."""

import pytest

from fulfilment.reconcile.recipients import differ, masked


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
        ("058 ******6789", "058 ******6789"),
        ("0123-456-789", "0123456789"),
        ("", "0123456789"),  # the connector cannot say whom we named
        ("0123456789", ""),  # the provider names nobody
    ],
)
def test_one_recipient_however_it_is_written(ours: str, theirs: str) -> None:
    assert not differ(ours, theirs)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("0123456789", "9923456789"),  # the last digits agree
        ("058 ******6789", "044 ******6789"),  # the other bank's
        ("058 ******6789", "058 ******6780"),
        ("DE89370400440532013000", "DE89370400440532013001"),
    ],
)
def test_another_recipient_differs(ours: str, theirs: str) -> None:
    assert differ(ours, theirs)


@pytest.mark.parametrize(
    ("whole", "kept"),
    [
        ("058 0123456789", "*********6789"),
        ("DE89 3704 0044 0532 0130 00", "******************3000"),
        ("058 ******6789", "058 ******6789"),
        ("Adaeze Obi", "Adaeze Obi"),
        ("+2348012345678", "+*********5678"),
        ("", ""),
    ],
)
def test_what_is_kept_is_of_no_use_to_a_thief(whole: str, kept: str) -> None:
    assert masked(whole) == kept
