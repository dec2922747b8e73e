"""Settings that come as text: read exactly, refused with a sentence."""

import pytest

from ledgerline import env


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("NGN=100000000, EUR = 1000000", {"NGN": 100_000_000, "EUR": 1_000_000}),
        ("JPY=0", {"JPY": 0}),
        ("", {}),
        ("  ", {}),
        (None, {"NGN": 5}),
    ],
)
def test_amounts_per_currency(monkeypatch, given: str | None, read: dict[str, int]) -> None:
    if given is not None:
        monkeypatch.setenv("LIMITS", given)
    assert env.amounts("LIMITS", "NGN=5") == read


@pytest.mark.parametrize("given", ["NGN", "NGN=1.5", "NGN=1=2", "NGN=,"])
def test_what_is_no_amount_is_named(monkeypatch, given: str) -> None:
    monkeypatch.setenv("LIMITS", given)
    with pytest.raises(env.BadSetting, match="LIMITS is"):
        env.amounts("LIMITS", "")
