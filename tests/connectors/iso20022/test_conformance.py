"""A bank that speaks ISO 20022 has what every connector must have."""

import pytest

from fulfilment.connectors.iso20022 import Iso20022Connector
from fulfilment.testing.conformance import Conformance
from tests.connectors.iso20022 import rig

pytestmark = [pytest.mark.processes, pytest.mark.long]


class TestIso20022Connector(Conformance):
    connector = Iso20022Connector
    provider = staticmethod(rig.running)
