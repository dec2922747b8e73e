"""What staff see of a payment by a real provider: neither our secret nor a whole account number."""

import pytest
from django.test import Client
from django.urls import reverse

from fulfilment.connectors.sandbox import SandboxConnector
from fulfilment.testing.conformance import Fault, world
from tests.connectors.conformance import sandbox_rig
from tests.connectors.sandbox import ACCOUNT
from tests.integration.admin.cast import senior

pytestmark = [pytest.mark.processes, pytest.mark.django_db]


def test_the_case_page_shows_no_secret_and_no_whole_account() -> None:
    client = Client()
    client.force_login(senior())
    with sandbox_rig.running() as rig, world(rig, SandboxConnector) as made:
        with made.during(Fault.WRONG_AMOUNT):
            conflict = made.sent()
        for row in (conflict, made.find_out(made.sent(Fault.LOST_ANSWER))):
            page = client.get(reverse("admin:fulfilment_reconciliation_change", args=[row.pk]))
            assert page.status_code == 200
            text = page.content.decode()
            assert row.reference in text, "it is another page"
            shown = [one for one in (ACCOUNT, rig.sandbox.secret) if one in text]
            assert not shown, f"staff can read {shown}"
