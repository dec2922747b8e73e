"""What must not go live is refused at start."""

from datetime import timedelta

import pytest

from ledgerline import checks


def test_the_shipped_time_outs_are_in_order() -> None:
    assert checks.timeouts_in_order(None) == []


@pytest.mark.parametrize(
    ("name", "seconds"),
    [("PROXY_TIMEOUT", 20), ("WEB_TIMEOUT", 10), ("STATEMENT_TIMEOUT", 3), ("LOCK_TIMEOUT", 10)],
)
def test_a_time_out_that_is_not_shorter_than_the_one_around_it_is_refused(
    name, seconds, settings
) -> None:
    setattr(settings, name, timedelta(seconds=seconds))
    found = checks.timeouts_in_order(None)
    assert [error.id for error in found] == ["ledgerline.E001"], "the order of time-outs is broken"
    assert name in found[0].msg


def test_the_development_key_is_named_before_deployment(settings) -> None:
    settings.SECRET_KEY = "insecure-anything"
    assert [w.id for w in checks.secrets_are_set(None)] == ["ledgerline.W001"]
    settings.SECRET_KEY = "a real one"
    assert checks.secrets_are_set(None) == []
