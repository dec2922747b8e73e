"""Airtime, and the fake for adopters' tests. `test_adding` has a provider whose events prove nothing."""

from contextlib import AbstractContextManager

import pytest

from fulfilment.connectors.sandbox import AirtimeConnector
from fulfilment.testing import FakeConnector
from fulfilment.testing.conformance import Conformance, Rig
from tests.connectors.conformance import fake_rig, sandbox_rig

pytestmark = pytest.mark.long


class TestAirtimeConnector(Conformance):
    connector = AirtimeConnector

    @staticmethod
    def provider() -> AbstractContextManager[Rig]:
        return sandbox_rig.running(airtime=True)


class TestFakeConnector(Conformance):
    connector = FakeConnector
    provider = staticmethod(fake_rig.running)
