"""The sandbox's transfers have what every connector must have."""

import pytest

from fulfilment.connectors.sandbox import SandboxConnector
from fulfilment.testing.conformance import Conformance
from tests.connectors.conformance import sandbox_rig

pytestmark = pytest.mark.processes


class TestSandboxConnector(Conformance):
    connector = SandboxConnector
    provider = staticmethod(sandbox_rig.running)
