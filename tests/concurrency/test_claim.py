"""One of two claims wins, and what decides is the primary key: without it the oracle says so."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import UUID

import pytest
from django.db import connection, transaction

from idempotency import store
from idempotency.contract import Answer

ADA = UUID("00000000-0000-0000-0000-00000000ada0")
CLAIMS = 2

TWO_WON = "two claims won: the primary key on idempotency_keys is missing"
NONE_WON = "no claim won: ON CONFLICT refused a row that nobody had inserted"


def claim_from_two_connections(*, schema: str = "public") -> list[bool]:
    """Both transactions have begun before either claims; the primary key alone is asked."""
    barrier = threading.Barrier(CLAIMS)

    def claim() -> bool:
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("SELECT set_config('search_path', %s, true)", [schema])
                barrier.wait(10)
                return store.claim(
                    ADA, key="k", fingerprint="f" * 64, operation="pay", advisory=False
                )
        finally:
            connection.close()

    with ThreadPoolExecutor(CLAIMS) as pool:
        return [future.result(20) for future in [pool.submit(claim) for _ in range(CLAIMS)]]


def exactly_one_won(claims: list[bool]) -> None:
    """The oracle: names the cause of every way in which it can fail."""
    assert sum(claims) < 2, TWO_WON
    assert sum(claims) == 1, NONE_WON


@contextmanager
def scratch_schema(*, alter: str) -> Iterator[str]:
    """A copy of the table with all its constraints, changed by `alter`."""
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA IF EXISTS scratch CASCADE")
        cursor.execute("CREATE SCHEMA scratch")
        cursor.execute(
            "CREATE TABLE scratch.idempotency_keys (LIKE public.idempotency_keys INCLUDING ALL)"
        )
        if alter:
            cursor.execute(f"ALTER TABLE scratch.idempotency_keys {alter}")
    try:
        yield "scratch"
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA scratch CASCADE")


@pytest.mark.django_db(transaction=True)
def test_one_of_two_simultaneous_claims_wins() -> None:
    exactly_one_won(claim_from_two_connections())


@pytest.mark.django_db(transaction=True)
def test_the_oracle_names_a_missing_primary_key() -> None:
    with scratch_schema(alter="DROP CONSTRAINT idempotency_keys_pkey") as schema:
        claims = claim_from_two_connections(schema=schema)
    with pytest.raises(AssertionError, match=TWO_WON):
        exactly_one_won(claims)


@pytest.mark.django_db(transaction=True)
def test_the_scratch_copy_with_its_primary_key_behaves_as_the_table() -> None:
    with scratch_schema(alter="") as schema:
        exactly_one_won(claim_from_two_connections(schema=schema))


def during_a_first_claim(then: Callable[[], object], *, commit: bool) -> object:
    """Run `then` on this connection while another one holds the claim, or after it committed."""
    claimed, go_on = threading.Event(), threading.Event()

    def first() -> None:
        try:
            with transaction.atomic():
                assert store.claim(ADA, key="k", fingerprint="f" * 64, operation="pay")
                store.settle(ADA, "k", Answer(201, (), b"x"))
                if not commit:
                    claimed.set()
                    assert go_on.wait(10)
        finally:
            connection.close()
        claimed.set()

    thread = threading.Thread(target=first)
    thread.start()
    assert claimed.wait(10)
    try:
        return then()
    finally:
        go_on.set()
        thread.join(10)


def claim_and_read() -> tuple[bool, bool]:
    """(won, saw a row): the claim, then what a later statement of the same transaction sees."""
    with transaction.atomic():
        won = store.claim(ADA, key="k", fingerprint="f" * 64, operation="pay")
        return won, store.read(ADA, "k") is not None


@pytest.mark.django_db(transaction=True)
def test_a_claim_during_the_first_is_refused_at_once_and_sees_nothing() -> None:
    with connection.cursor() as cursor:  # any wait at all becomes an error
        cursor.execute("SET statement_timeout = '1s'")
    try:
        found = during_a_first_claim(claim_and_read, commit=False)
    finally:
        connection.close()
    assert found == (False, False), "the second claim won, or saw a row that is not committed"


@pytest.mark.django_db(transaction=True)
def test_a_claim_after_the_first_reads_its_row_in_a_later_statement() -> None:
    found = during_a_first_claim(claim_and_read, commit=True)
    assert found == (False, True), "the row that made the claim fail cannot be seen"


@pytest.mark.django_db(transaction=True)
def test_keys_of_different_scopes_do_not_meet() -> None:
    other = UUID(int=ADA.int + 1)

    def claim_as_other() -> bool:
        with transaction.atomic():
            return store.claim(other, key="k", fingerprint="f" * 64, operation="pay")

    assert during_a_first_claim(claim_as_other, commit=False) is True
