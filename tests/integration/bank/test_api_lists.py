"""Lists: one's own rows only, newest first, page by page without gaps."""

from uuid import uuid4

import pytest

from ledgerline.bank.models import Account
from tests.integration.bank.phone import B0, Phone


@pytest.fixture
def seven(ada: Account, bola: Account) -> list[dict]:
    """Seven transfers of 1 to 7 kobo, newest first."""
    made = [Phone(ada).pay(B0 | {"amount": kobo}).json() for kobo in range(1, 8)]
    return made[::-1]


def pages(phone: Phone, path: str, name: str) -> list[list[dict]]:
    found = []
    while path:
        page = phone.list(path)
        found.append(page[name])
        path = page["next"]
    return found


def test_transfers_come_page_by_page(ada: Account, seven: list[dict]) -> None:
    found = pages(Phone(ada), "/v1/transfers?limit=3", "transfers")
    assert [len(page) for page in found] == [3, 3, 1]
    assert [transfer for page in found for transfer in page] == seven


def test_what_arrives_meanwhile_shifts_nothing(ada: Account, seven: list[dict]) -> None:
    phone = Phone(ada)
    first = phone.list("/v1/transfers?limit=3")
    phone.pay(B0 | {"amount": 8})
    assert phone.list(first["next"])["transfers"] == seven[3:6]


def test_a_reference_finds_its_transfer(ada: Account, seven: list[dict]) -> None:
    page = Phone(ada).list(f"/v1/transfers?reference={seven[2]['reference']}")
    assert page == {"transfers": [seven[2]], "next": None}


def test_accounts_are_listed_in_full_to_their_owner(ada: Account, seven: list[dict]) -> None:
    Phone(ada).pay(B0 | {"toBank": "058", "amount": 100})
    [account] = Phone(ada).list("/v1/accounts")["accounts"]
    assert account.pop("openedAt").endswith("Z")
    assert account == {
        "number": "0123456780",
        "name": "",
        "currency": "NGN",
        "exponent": 2,
        "balance": 100_000 - 28,
        "held": 100,
        "available": 100_000 - 128,
        "frozen": False,
    }


def test_entries_come_page_by_page(ada: Account, bola: Account, seven: list[dict]) -> None:
    found = pages(Phone(ada), "/v1/accounts/0123456780/entries?limit=3", "entries")
    entries = [entry for page in found for entry in page]
    assert [entry["amount"] for entry in entries] == [-7, -6, -5, -4, -3, -2, -1, 100_000]
    assert [entry["transfer"] for entry in entries] == [t["id"] for t in seven] + [None]
    hers = Phone(bola).list("/v1/accounts/0123456789/entries")
    assert [entry["amount"] for entry in hers["entries"]] == [7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/accounts/0123456780/entries",
        "/v1/accounts/9902140714/entries",
        "/v1/accounts/nothing/entries",
        f"/v1/transfers/{uuid4()}",
        "/v1/transfers/not-an-id",
    ],
)
def test_what_is_not_yours_is_not_found(ada: Account, eve: Account, path: str) -> None:
    assert Phone(eve).get(path).status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        *("limit=0", "limit=101", "limit=-1", "limit=x", "limit=", "limit=%D9%A1", "limit=1e1"),
        *("after=x", "after=", "after=-1", "after=99999999999999999999"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/transfers", "/v1/accounts/0123456780/entries"])
def test_a_page_that_cannot_be_is_refused_by_name(ada: Account, path: str, query: str) -> None:
    answer = Phone(ada).get(f"{path}?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert list(answer.json()["errors"]) == [query.split("=")[0]]


def test_the_cursor_of_somebody_else_s_list_is_refused(
    ada: Account, eve: Account, seven: list[dict]
) -> None:
    answer = Phone(eve).get(f"/v1/transfers?after={seven[0]['id']}")
    assert answer.status_code == 400


@pytest.mark.parametrize("reference", ["", "x", "%F0%9F%98%80"])
def test_a_reference_that_names_nothing_finds_nothing(ada: Account, reference: str) -> None:
    assert Phone(ada).list(f"/v1/transfers?reference={reference}")["transfers"] == []
