"""The page "Adding a provider": its samples run as they stand there, and it knows all there is."""

import ast
import re
from dataclasses import fields
from importlib import import_module

import pytest
from django.test import override_settings

from fulfilment.connectors import base
from fulfilment.connectors.base import Capabilities
from fulfilment.connectors.checks import promises_hold
from tests.connectors.conformance.samples import PAGE, installed, samples
from tests.connectors.conformance.test_every_connector import judged

acme = installed()


@pytest.mark.long
class TestAcme(acme.TestAcme):  # type: ignore[misc,name-defined]
    """The connector of the page, held to the suite by the class of the page."""


def test_the_page_has_every_file_that_it_names() -> None:
    named = re.findall(r"^((?:acme|tests)/\S+\.py) ", PAGE.read_text(), re.MULTILINE)
    assert len(named) == 4
    assert set(named) <= samples().keys(), "a file is named, and its code is not shown"


def test_every_sample_can_be_read() -> None:
    for name, code in samples().items():
        ast.parse(code, name)
        long = [line for line in code.splitlines() if len(line) > 100]
        assert not long, f"{name} is too wide for the page: {long}"


def test_every_promise_and_every_answer_is_explained() -> None:
    text = PAGE.read_text()
    wanted = {field.name for field in fields(Capabilities)}
    wanted |= {kind.__name__ for kind in (*base.Outcome.__args__, *base.LookUp.__args__)}
    missing = sorted(name for name in wanted if f"`{name}`" not in text)
    assert not missing, f"whoever adds a provider has to know {missing}, and the page is silent"


def test_the_page_knows_how_a_connector_without_the_suite_is_noticed() -> None:
    judged()
    import_module("acme_tests.test_connectors").test_every_connector_is_held_to_the_suite()


def test_the_settings_of_the_page_raise_no_doubt(tmp_path, monkeypatch) -> None:
    code = samples()["settings.py"]
    key = tmp_path / "acme"
    key.write_text("a key\n")
    monkeypatch.setenv("ACME_HASH", "a literal secret, as it is")
    made: dict = {}
    exec(code.replace("/run/secrets/acme", str(key)), made)
    with override_settings(FULFILMENT=made["FULFILMENT"]):
        assert promises_hold(None) == []
