"""The package as an adopter meets it."""

import subprocess
import sys

import pytest

import idempotency
from idempotency import (
    ProblemKind,
    Refusal,
    claim_of,
    idempotent,
    leased_claim_of,
    problem,
)
from idempotency.errors import Transient
from idempotency.problems import register, registered


def test_importing_the_package_needs_neither_settings_nor_rest_framework() -> None:
    code = (
        "import sys; sys.modules['rest_framework'] = None\n"
        "import idempotency\n"
        "from idempotency import Refusal, reference_of, Answer\n"
        "assert 'django' not in sys.modules, 'a pure name pulled Django in'\n"
        "from django.conf import settings; settings.configure(); import django; django.setup()\n"
        "from idempotency import idempotent, problem, complete, Claim\n"
        "idempotent()(lambda request: None)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_helpers_for_tests_need_no_pytest() -> None:
    code = (
        "import sys\n"
        "for missing in ('pytest', 'rest_framework', 'prometheus_client', 'drf_spectacular'):\n"
        "    sys.modules[missing] = None\n"
        "from django.conf import settings; settings.configure(INSTALLED_APPS=['idempotency'])\n"
        "import django; django.setup()\n"
        "from idempotency.testing import at_once, killed_at, replay\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_there() -> None:
    for name in idempotency.__all__:
        assert getattr(idempotency, name)
    with pytest.raises(AttributeError, match="nothing"):
        idempotency.nothing  # noqa: B018


def test_only_a_guarded_request_has_a_claim() -> None:
    with pytest.raises(LookupError, match="not guarded"):
        claim_of(object())
    with pytest.raises(LookupError, match="not guarded in leased mode"):
        leased_claim_of(object())


def test_what_cannot_be_guarded_is_refused_at_import() -> None:
    from django.core.exceptions import ImproperlyConfigured

    async def later(request: object) -> None: ...

    def wrapped(request: object) -> None: ...

    wrapped.cls = object  # type: ignore[attr-defined]
    with pytest.raises(ImproperlyConfigured, match="what became of its call"):
        idempotent(mode="leased")
    with pytest.raises(ImproperlyConfigured, match="needs a key"):
        idempotent(mode="leased", required=False, recover="ask")
    with pytest.raises(ImproperlyConfigured, match="belong to mode='leased'"):
        idempotent(recover="ask")
    with pytest.raises(ImproperlyConfigured, match="no mode 'eventual'"):
        idempotent(mode="eventual")  # type: ignore[arg-type]
    with pytest.raises(ImproperlyConfigured, match="An async handler needs mode"):
        idempotent()(later)
    with pytest.raises(ImproperlyConfigured, match="below @api_view"):
        idempotent()(wrapped)


def test_a_refusal_says_its_docstring() -> None:
    class NoMoney(Refusal):
        """The account does not hold enough money.

        More for developers.
        """

        code = "no_money"

    assert NoMoney.sentence() == str(NoMoney()) == "The account does not hold enough money."
    assert NoMoney("You have 1.", available=1).members == {"available": 1}
    assert Transient(retry_after=0).retry_after == 1, "Retry-After: 0 makes clients spin"


def test_a_registered_problem_can_be_said() -> None:
    known = dict(registered())
    kind = ProblemKind("test_only", "A test.", 418, "after", False, "Means.", "Do.")
    try:
        register(kind)
        answer = problem("test_only", detail="d", headers=[("Retry-After", "3")], n=1)
    finally:
        registered().clear()  # type: ignore[attr-defined]
        registered().update(known)  # type: ignore[attr-defined]
    assert (answer.status, answer.headers[1]) == (418, ("Retry-After", "3"))
    assert b'"n": 1' in answer.body
    with pytest.raises(KeyError):
        problem("test_only")
