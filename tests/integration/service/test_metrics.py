"""GET /metrics: for whoever has its token, and whatever happens to the database."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client

TOKEN = "of-the-monitoring"


@pytest.fixture(autouse=True)
def _token(settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN


def scrape(token: str = TOKEN, **headers: str) -> Any:
    return Client(headers={"Authorization": f"Bearer {token}"} | headers).get("/metrics")


@pytest.mark.django_db
def test_whoever_has_the_token_gets_everything_that_is_counted() -> None:
    answer = scrape()
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
    said = answer.content.decode()
    assert "idempotency_database_up 1.0" in said
    assert "# TYPE idempotency_requests_total counter" in said


@pytest.mark.django_db
def test_openmetrics_is_spoken_to_whoever_asks_for_it() -> None:
    answer = scrape(Accept="application/openmetrics-text; version=1.0.0")
    assert answer["Content-Type"].startswith("application/openmetrics-text")
    assert answer.content.endswith(b"# EOF\n")


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x", "é"])
def test_nobody_else_gets_anything(token: str) -> None:
    answer = scrape(token)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert b"idempotency_" not in answer.content


@pytest.mark.parametrize("token", ["", TOKEN])
def test_without_a_token_in_the_settings_there_is_no_such_page(settings: Any, token: str) -> None:
    settings.METRICS_TOKEN = ""
    assert scrape(token).status_code == 404


@pytest.fixture
def nowhere() -> Iterator[None]:
    """PostgreSQL is down: its port refuses connections."""
    connection.close()
    port, connection.settings_dict["PORT"] = connection.settings_dict["PORT"], "1"
    yield
    connection.close()
    connection.settings_dict["PORT"] = port


@pytest.mark.django_db(transaction=True)
def test_without_postgresql_the_scrape_still_answers_and_says_so(nowhere: None) -> None:
    answer = scrape()
    said = answer.content.decode()
    assert answer.status_code == 200
    assert "idempotency_database_up 0.0" in said
    assert "idempotency_requests_total" in said, "the counters went with the database"
    assert "idempotency_open_keys{" not in said, "a figure that nobody asked for"


@pytest.mark.django_db(transaction=True)
def test_a_table_that_is_locked_holds_a_scrape_up_for_a_moment_only() -> None:
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor, connection.cursor() as ours:
            ours.execute("SET lock_timeout = 0; SET statement_timeout = '20s'")
            cursor.execute("BEGIN")
            cursor.execute("LOCK TABLE idempotency_keys")
            began = time.monotonic()
            said = scrape().content.decode()
            took = time.monotonic() - began
    finally:
        other.close()
        connection.close()
    assert "idempotency_database_up 0.0" in said
    assert took < 10, f"a scrape waited {took:.0f} s: its statements have no bound of their own"
    assert "idempotency_database_up 1.0" in scrape().content.decode()


@pytest.mark.django_db
def test_the_machine_is_part_of_the_scrape() -> None:
    said = scrape().content.decode()
    assert "fulfilment_healthy 0.0" in said, "no round ever ran here"
    assert "# TYPE fulfilment_late_successes_total counter" in said
