"""PostgreSQL down, locked or too slow is no bug: 503, and the same request may be sent again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client

from ledgerline.bank.models import User
from ledgerline.tokens import issue
from tests.integration.bank.conftest import customer
from tests.integration.bank.phone import Phone

pytestmark = pytest.mark.django_db(transaction=True)

READS = ["/v1/accounts", "/v1/accounts/0123456789/entries", "/v1/transfers"]


@pytest.fixture
def client() -> Client:
    client = Client(
        raise_request_exception=False,
        headers={"Authorization": f"Bearer {issue(User.objects.create_user('ada'))}"},
    )
    client.force_login(User.objects.create_superuser("root"))
    return client


@contextmanager
def unreachable() -> Iterator[None]:
    """Nothing listens where the database was."""
    connection.close()
    port, connection.settings_dict["PORT"] = connection.settings_dict["PORT"], "1"
    yield
    connection.settings_dict["PORT"] = port
    connection.close()


@contextmanager
def taken() -> Iterator[None]:
    """Somebody else has locked the tables, and does not let go in time."""
    own = connection.get_connection_params()
    where = {
        name: own[name] for name in ("dbname", "user", "password", "host", "port") if name in own
    }
    with psycopg.connect(**where) as other, connection.cursor() as cursor:
        other.execute("LOCK TABLE bank_account, bank_transfer, bank_user IN ACCESS EXCLUSIVE MODE")
        cursor.execute("SET lock_timeout = '50ms'")
        yield
        other.rollback()
    connection.close()


@pytest.fixture
def down(client: Client) -> Iterator[None]:
    with unreachable():
        yield


@pytest.fixture
def locked(client: Client) -> Iterator[None]:
    with taken():
        yield


@pytest.mark.parametrize("outage", ["down", "locked"])
@pytest.mark.parametrize("path", READS)
def test_a_read_is_unavailable_and_never_a_bug(
    client: Client, path: str, outage: str, request: Any
) -> None:
    request.getfixturevalue(outage)
    answer = client.get(path)
    assert (answer.status_code, answer["Retry-After"]) == (503, "1"), answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["retry"]) == ("unavailable", "same_key")


@pytest.mark.usefixtures("down")
def test_a_page_for_staff_says_so_too(client: Client) -> None:
    answer = client.get("/admin/")
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")
    assert b"Try again" in answer.content


def test_a_bug_on_a_page_is_still_a_bug(client: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(admin.site, "each_context", lambda request: 1 / 0)
    assert client.get("/admin/").status_code == 500


@pytest.mark.parametrize("outage", [unreachable, taken])
def test_a_payment_during_an_outage_is_stored_nowhere_and_its_key_pays_afterwards(
    outage: Callable[[], Any],
) -> None:
    """C022: a 503 of our own making must not be replayed for ever."""
    customer("bola", number="0123456789")
    phone = Phone(customer("ada", number="0123456780", funds=100_000))
    with outage():
        refused = phone.pay(key="paused")
    problem = refused.json()
    assert (refused.status_code, problem["code"], problem["retry"]) == (
        503,
        "unavailable",
        "same_key",
    )
    paid = phone.pay(key="paused")
    assert (paid.status_code, paid.get("Idempotent-Replayed")) == (201, None), paid.content
