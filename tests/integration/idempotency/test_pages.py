"""What people see: the problem pages, the list of keys in the admin, the system checks."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from rest_framework.response import Response

from idempotency import Refusal, checks
from idempotency.problems import registered
from tests.integration.idempotency.conftest import ADA, BOLA, Phone
from tests.integration.idempotency.stage import Stage


def test_every_problem_has_a_page_that_says_what_to_do() -> None:
    client = Client()
    index = client.get("/problems/").content.decode()
    for code, kind in registered().items():
        page = client.get(f"/problems/{code}/")
        assert page.status_code == 200
        assert code in index
        text = page.content.decode()
        assert kind.title.split("'")[0] in text
        assert "What to do" in text
        assert "<style" not in text
        assert "<script" not in text
    assert client.get("/problems/unknown/").status_code == 404


class SoldOut(Refusal):
    """The last ticket is gone.

    Somebody else was quicker.
    """

    code = "sold_out_here"


def test_a_refusal_of_a_project_has_a_page_before_anybody_registers_words_for_it() -> None:
    page = Client().get("/problems/sold_out_here/")
    assert page.status_code == 200, "the type of its answers leads to no page"
    text = page.content.decode()
    assert SoldOut.sentence() in text
    assert "Somebody else was quicker." in text
    assert "nothing was done under this one" in text


@pytest.fixture
def staff(stage_: Stage, settings: Any) -> Client:
    """A superuser, signed in."""
    settings.MIDDLEWARE = [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ]
    user = get_user_model().objects.create_superuser("root", password="secret")
    client = Client()
    client.force_login(user)
    return client


def test_staff_find_a_key_by_user_and_key_and_see_no_body(
    ada: Phone, bola: Phone, stage_: Stage, staff: Client
) -> None:
    stage_.act = lambda request: Response({"secret": "body-of-answer"}, status=201)
    ada.send("k-1")
    bola.send("k-2")
    listing = "/admin/idempotency/keylisting/"
    assert "k-1" in (every := staff.get(listing).content.decode())
    assert "k-2" in every
    for words in ("k-1", str(ADA), f"{ADA} k-1"):
        found = staff.get(listing, {"q": words}).content.decode()
        assert (">k-1<" in found, ">k-2<" in found) == (True, False), words
    assert ">k-1<" not in staff.get(listing, {"q": f"{BOLA} k-1"}).content.decode()
    assert ">k-1<" not in staff.get(listing, {"q": "k-"}).content.decode()
    page = staff.get(f"{listing}{ADA}:k-1/change/")
    assert page.status_code == 200
    assert "stage.required" in page.content.decode()
    assert "body-of-answer" not in page.content.decode() + every
    assert staff.get(f"{listing}nonsense/change/").status_code == 302


def test_nobody_changes_or_deletes_a_key(ada: Phone, stage_: Stage, staff: Client) -> None:
    stage_.act = lambda request: Response({}, status=201)
    ada.send("k-1")
    page = f"/admin/idempotency/keylisting/{ADA}:k-1"
    assert staff.post(f"{page}/change/", {"key": "other"}).status_code == 403
    assert staff.post(f"{page}/delete/", {"post": "yes"}).status_code == 403
    assert staff.get("/admin/idempotency/keylisting/add/").status_code == 403


def found(settings: Any, **mine: Any) -> list[str]:
    settings.IDEMPOTENCY = mine
    return [str(message.id) for message in checks.check_settings()]


JSON = "django_redis.serializers.json.JSONSerializer"
REDIS = "django.core.cache.backends.redis.RedisCache"
DJANGO_REDIS = "django_redis.cache.RedisCache"


@pytest.mark.parametrize(
    ("backend", "options", "warned"),
    [
        (DJANGO_REDIS, {}, True),
        (DJANGO_REDIS, {"SERIALIZER": "django_redis.serializers.pickle.PickleSerializer"}, True),
        (DJANGO_REDIS, {"SERIALIZER": JSON}, False),
        (REDIS, {}, True),
        (REDIS, {"serializer": "django.core.cache.backends.redis.RedisSerializer"}, True),
        (REDIS, {"serializer": "project.caches.Plain"}, False),
        ("django.core.cache.backends.locmem.LocMemCache", {}, False),
    ],
)
def test_a_redis_cache_that_unpickles_is_warned_of(
    settings: Any, backend: str, options: dict[str, str], warned: bool
) -> None:
    settings.CACHES = {"answers": {"BACKEND": backend, "LOCATION": "x", "OPTIONS": options}}
    assert found(settings, CACHE="answers") == (["idempotency.W002"] if warned else [])


def test_a_good_configuration_passes(settings: Any) -> None:
    assert found(settings, CACHE="default") == []
    assert found(settings) == []


@pytest.mark.parametrize(
    ("mine", "expected"),
    [
        ({"CASHE": "default"}, "E001"),
        ({"SCOPE": "nowhere.at.all"}, "E002"),
        ({"SCOPE": "idempotency.key.MAX_LENGTH"}, "E002"),
        ({"REDACT": "nowhere.at.all"}, "E022"),
        ({"CACHE": "nowhere"}, "E003"),
        ({"DATABASE": "nowhere"}, "E004"),
    ],
)
def test_a_mistake_in_the_settings_is_named(
    settings: Any, mine: dict[str, Any], expected: str
) -> None:
    assert found(settings, **mine) == [f"idempotency.{expected}"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"ATOMIC_REQUESTS": True}, None),
        ({"OPTIONS": {"isolation_level": 4}}, "E006"),
        ({"OPTIONS": {"options": "-c default_transaction_isolation=serializable"}}, "E006"),
        ({"OPTIONS": {"options": "-c default_transaction_isolation=read\\ committed"}}, None),
    ],
)
def test_a_database_that_breaks_the_contract_is_refused(
    settings: Any, monkeypatch: Any, change: dict[str, Any], expected: str | None
) -> None:
    monkeypatch.setitem(settings.DATABASES, "default", settings.DATABASES["default"] | change)
    assert found(settings) == ([f"idempotency.{expected}"] if expected else [])
