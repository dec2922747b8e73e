"""Keys that would not commit together with what is done under them are refused at start."""

from typing import Any

import pytest
from django.http import HttpResponse
from django.views import View
from django.views.generic import CreateView
from rest_framework.generics import GenericAPIView

from idempotency import idempotent
from idempotency.checks import check_aliases
from ledgerline.bank.api.transfers import Transfers
from ledgerline.bank.models import Transfer
from tests.unit.idempotency.checks.urlconf import ids, routed

HERE = "tests.unit.idempotency.checks.test_aliases"


class Elsewhere:
    """The bank has a database of its own."""

    def db_for_write(self, model: Any, **hints: Any) -> str | None:
        return "bank" if model._meta.app_label == "bank" else None


class NoKeys:
    """Nobody has told this router of our app."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        return False if app_label == "idempotency" else None


class Guarded:
    @idempotent()
    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError


class Generic(Guarded, GenericAPIView):
    queryset = Transfer.objects.all()


class Create(Guarded, CreateView):
    model = Transfer


class Plain(Guarded, View):
    pass


@pytest.fixture
def two_databases(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.DATABASES, "bank", settings.DATABASES["default"])
    settings.DATABASE_ROUTERS = [f"{HERE}.Elsewhere"]


def test_one_database_is_the_right_one(settings: Any) -> None:
    routed(settings, Generic.as_view(), Create.as_view(), Plain.as_view(), Transfers.as_view())
    assert ids(check_aliases) == []


@pytest.mark.parametrize("view", [Generic, Create])
def test_a_view_whose_model_is_written_elsewhere_is_refused(
    settings: Any, two_databases: None, view: Any
) -> None:
    routed(settings, view.as_view())
    assert ids(check_aliases) == ["E011"]
    settings.IDEMPOTENCY = {"DATABASE": "bank"}
    assert ids(check_aliases) == []


def test_a_view_of_an_app_that_writes_elsewhere_is_named_once(
    settings: Any, two_databases: None
) -> None:
    routed(settings, Transfers.as_view(), Transfers.as_view(), Plain.as_view())
    assert ids(check_aliases) == ["W011"]
    settings.IDEMPOTENCY = {"DATABASE": "bank"}
    assert ids(check_aliases) == []


def test_a_database_that_may_not_hold_the_keys_is_refused(settings: Any) -> None:
    settings.DATABASE_ROUTERS = [f"{HERE}.NoKeys"]
    assert ids(check_aliases) == ["E010"]


def test_an_unknown_database_is_another_checks_to_name(settings: Any) -> None:
    settings.IDEMPOTENCY = {"DATABASE": "nowhere"}
    assert ids(check_aliases) == []
