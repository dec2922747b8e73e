"""What somebody who adds a provider needs comes with the wheel."""

import zipfile
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "needed",
    [
        "fulfilment/connectors/ADDING.md",
        "fulfilment/testing/conformance/__init__.py",
        "fulfilment/testing/conformance/line.py",
    ],
)
def test_the_wheel_brings_what_it_takes_to_add_a_provider(built: Path, needed: str) -> None:
    names = zipfile.ZipFile(built).namelist()
    assert needed in names, f"{needed} stays here, and adopters cannot add a provider"
