"""`idempotency` in a project that has Django and PostgreSQL and nothing else."""

import json
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import psycopg
import pytest

from tests.adoption.project import CHECKS, Project, staff_client
from tests.adoption.wheel import run

pytestmark = [pytest.mark.processes, pytest.mark.timeout(400)]

# What some modules need when they are used, which is nothing that the contract itself is made of.
OPTIONAL = {"rest_framework", "drf_spectacular", "prometheus_client", "pytest"}


@pytest.fixture(scope="module")
def address(alone: Project) -> Iterator[str]:
    with alone.served() as address:
        yield address


@pytest.fixture
def ada(address: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=address, auth=("ada", "pw"), timeout=30) as client:
        yield client


def order(client: httpx2.Client, key: str | None, amount: int = 5) -> httpx2.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post("/orders", json={"amount": amount}, headers=headers)


def orders(project: Project) -> int:
    with psycopg.connect(project.database) as connection:
        found = connection.execute("SELECT count(*) FROM shop_order").fetchone()
    return found[0] if found else -1


def test_the_contract_holds(alone: Project, ada: httpx2.Client) -> None:
    before = orders(alone)
    first, again = order(ada, "k1"), order(ada, '"k1"')
    assert first.status_code == 201, first.text
    assert (again.status_code, again.content) == (201, first.content)
    assert (first.headers.get("Idempotent-Replayed"), again.headers["Idempotent-Replayed"]) == (
        None,
        "true",
    )
    assert again.headers["Location"] == first.headers["Location"]
    assert order(ada, "k1", amount=6).status_code == 422
    assert order(ada, None).status_code == 400
    refused, refused_again = order(ada, "k2", amount=1001), order(ada, "k2", amount=1001)
    assert (refused.status_code, refused.json()["code"]) == (400, "too_much")
    assert refused_again.content == refused.content
    assert orders(alone) == before + 1, "one key placed another number of orders than one"


def test_ten_at_once_place_one_order(alone: Project, address: str) -> None:
    before = orders(alone)

    def one(_: int) -> int:
        with httpx2.Client(base_url=address, auth=("ada", "pw"), timeout=30) as client:
            return order(client, "k10").status_code

    with ThreadPoolExecutor(10) as threads:
        statuses = set(threads.map(one, range(10)))
    assert orders(alone) == before + 1, "the primary key on idempotency_keys is missing"
    assert statuses <= {201, 409}, statuses


def test_somebody_who_is_not_signed_in_has_no_key(address: str) -> None:
    with httpx2.Client(base_url=address, timeout=30) as stranger:
        assert order(stranger, "k1").status_code == 401


def test_every_problem_has_its_page(ada: httpx2.Client) -> None:
    problem = order(ada, None).json()
    page = ada.get(problem["type"])
    assert page.status_code == 200, "the template is not in the wheel"
    assert problem["title"] in page.text
    assert "Traceback" not in ada.get("/problems/").text
    assert ada.get("/static/idempotency/problems.css").status_code == 200


def test_staff_see_the_keys_and_never_a_body(address: str, ada: httpx2.Client) -> None:
    order(ada, "key-for-staff", amount=777)
    with staff_client(address, "staff") as browser:
        page = browser.get("/admin/idempotency/keylisting/", params={"q": "key-for-staff"})
        assert page.status_code == 200, page.text[:2000]
        assert "shop.order" in page.text
        assert "777" not in page.text
        assert "Ledgerline" not in page.text, "the service's own admin pages are in the app"
        one = re.search(r'href="(/admin/idempotency/keylisting/[^"?]+/change/)', page.text)
        assert one is not None, page.text
        opened = browser.get(one[1])
        assert opened.status_code == 200, opened.text[:2000]
        assert "shop.order" in opened.text


def test_its_checks_and_commands_run(alone: Project) -> None:
    said = alone.manage(*CHECKS, "then", "sweep_idempotency", "then", "help", "--commands")
    assert "no issues" in said
    assert "No changes detected" in said, "an app has a model without its migration"
    assert "idempotency_audit" in said


def test_its_owner_can_test_with_the_helpers(alone: Project) -> None:
    said = alone.manage("test", "shop")
    assert "OK" in said
    assert "Ran 5 tests" in said


def test_only_what_an_extra_brings_needs_an_extra(alone: Project) -> None:
    code = (
        "import importlib, json, pkgutil, django; from django.conf import settings\n"
        "settings.configure(INSTALLED_APPS=['django.contrib.contenttypes', 'django.contrib.auth', "
        "'django.contrib.messages', 'django.contrib.admin', 'idempotency']); django.setup()\n"
        "import idempotency; missing = {}\n"
        "for found in pkgutil.walk_packages(idempotency.__path__, 'idempotency.', onerror=lambda n: None):\n"
        "    if '.migrations' in found.name: continue\n"
        "    try: importlib.import_module(found.name)\n"
        "    except ImportError as error: missing[found.name] = error.name\n"
        "print(json.dumps(missing))"
    )
    said = run([str(alone.environment.python), "-c", code], cwd=alone.folder)
    missing = json.loads(said.splitlines()[-1])
    assert set(missing.values()) <= OPTIONAL, f"the base needs more than Django: {missing}"
    assert "idempotency.drf" in missing, "REST framework is there: this environment shows nothing"
    for name in ("celery", "redis", "rest_framework", "httpx2", "prometheus_client"):
        there = subprocess.run(
            [str(alone.environment.python), "-c", f"import {name}"], capture_output=True
        )
        assert there.returncode != 0, f"{name} is installed: this environment shows nothing"
