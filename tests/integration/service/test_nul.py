"""A NUL in an address is the sender's mistake: 400 before anybody compares it with a row."""

import pytest
from django.test import Client

from ledgerline.bank.models import User


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address",
    [
        "/admin/fulfilment/fulfilment/?currency__exact=%00",
        "/admin/fulfilment/fulfilment/?connector=%00",
        "/admin/fulfilment/reconciliation/?connector=x%00y",
        "/admin/idempotency/keylisting/k%00/change/",
    ],
)
def test_staff_get_a_page_that_says_bad_request(address: str) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root"))
    answer = client.get(address)
    assert answer.status_code == 400, f"{address} reached the database"
    assert answer["Content-Type"].startswith("text/html")


def test_a_client_of_the_api_gets_a_problem() -> None:
    answer = Client().get("/v1/transfers?reference=%00")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert (answer.json()["code"], answer.json()["detail"]) == (
        "invalid",
        "The address contains a NUL.",
    )
    assert answer.json()["safe_new_key"] is False, "no key was looked up"


def test_other_escapes_pass() -> None:
    assert Client().get("/healthz?a=%2500&b=00").status_code == 200
