"""`@gated` on a function, a Celery task, a command and an admin action."""

import subprocess
import sys
from typing import Any

import pytest
from celery import shared_task
from django.contrib import admin
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import BaseCommand

from idempotency import NothingHappened, gate, gated
from idempotency.models import GatedAction
from tests.integration.gate.conftest import COMMITTING, World, standing, write, written

pytestmark = COMMITTING

WORLD = World()


@pytest.fixture(autouse=True)
def _new_world() -> None:
    WORLD.clear()


class Refund:
    def __init__(self, pk: Any, line: str = "") -> None:
        self.pk, self.line = pk, line


@gated("refund.approve", target="refund.pk")
def approve(refund: Refund, *, note: str = "") -> str:
    """Approves a refund."""
    return WORLD.pay(f"{refund.pk}")


def test_a_function_runs_once_and_later_calls_get_its_result() -> None:
    first, again = approve(Refund("r-1"), note="a"), approve(refund=Refund("r-1"), note="b")
    assert first == again == "paid r-1"
    assert approve(Refund("r-2")) == "paid r-2"
    assert WORLD == {"r-1": 1, "r-2": 1}
    assert (approve.__name__, approve.__doc__) == ("approve", "Approves a refund.")


def test_a_method_and_a_function_of_the_arguments_can_name_it() -> None:
    class Desk:
        @gated("line.refund", target="refund.pk", key=lambda _, refund: refund.line)
        def refund(self, refund: Refund) -> str:
            return WORLD.pay(f"{refund.pk}:{refund.line}")

    for line in ("1", "2", "1"):
        Desk().refund(Refund("r-1", line))
    assert WORLD == {"r-1:1": 1, "r-1:2": 1}


def test_a_call_whose_name_is_missing_does_not_run() -> None:
    with pytest.raises(ValueError, match="not saved"):
        approve(Refund(None))

    @gated("refund.line", target="refund.pk", key="refund.line")
    def line(refund: Refund) -> None:
        WORLD.pay("line")

    with pytest.raises(ValueError, match="key of an action is None"):
        line(Refund("r-1", line=None))  # type: ignore[arg-type]
    assert not WORLD, "an action without the identity that was declared ran ungated"


def test_a_function_without_an_identity_runs_each_time() -> None:
    @gated("cache.warm")
    def warm() -> str:
        return WORLD.pay("warm")

    assert warm() == warm() == "paid warm"
    assert WORLD == {"warm": 2}


def test_an_atomic_function_that_raises_may_run_again() -> None:
    @gated("books.close", target="month", atomic=True)
    def close(month: str) -> dict[str, int]:
        write(month)
        WORLD[month] += 1
        if WORLD[month] == 1:
            raise RuntimeError("a bug")
        return {"entries": 1}

    with pytest.raises(RuntimeError):
        close("2026-11")
    assert close("2026-11") == close("2026-11") == {"entries": 1}
    assert written() == ["2026-11"]


def test_an_inner_action_that_was_done_is_not_taken_for_the_outer_one() -> None:
    @gated("order.ship", target="order")
    def ship(order: str) -> str:
        with gate.claim("order.charge", target=order):
            return WORLD.pay(order)

    with gate.claim("order.charge", target="o-1") as action:
        action.settle("charged before")
    with pytest.raises(gate.AlreadySettled):
        ship("o-1")
    assert ("order.ship", "held") in standing()


def test_a_result_that_could_not_be_kept_is_not_passed_off_as_none() -> None:
    @gated("report.render", target="day")
    def render(day: str) -> object:
        return object()

    render("2026-11-30")
    with pytest.raises(gate.AlreadySettled) as earlier:
        render("2026-11-30")
    assert earlier.value.omitted


@shared_task(name="gate_test.approve", bind=True, autoretry_for=(NothingHappened,), max_retries=2)
@gated("refund.task", target="refund_id")
def approve_task(self: Any, refund_id: str) -> str:
    if self.request.retries == 0:
        raise NothingHappened("the provider could not be reached")
    return WORLD.pay(refund_id)


def test_a_celery_task_retries_what_did_not_happen_and_runs_once() -> None:
    first = approve_task.apply(args=["r-1"])
    again = approve_task.apply(kwargs={"refund_id": "r-1"})  # the message came twice
    assert (first.get(), again.get()) == ("paid r-1", "paid r-1")
    assert WORLD == {"r-1": 1}, "a task that was delivered twice ran twice"


class Close(BaseCommand):
    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--month")

    @gated("books.close", target="month", atomic=True)
    def handle(self, *args: Any, **options: Any) -> str:
        write(options["month"])
        return f"closed {options['month']}"


def test_a_command_runs_once(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        call_command(Close(), month="2026-11")
    assert written() == ["2026-11"]
    assert capsys.readouterr().out == "closed 2026-11\nclosed 2026-11\n"


@admin.action(description="Send the reminder", permissions=["view"])
@gated("reminder.send", target=lambda modeladmin, request, queryset: queryset[0])
def remind(modeladmin: Any, request: Any, queryset: Any) -> None:
    WORLD.pay(queryset[0])


def test_an_admin_action_runs_once_and_keeps_its_name() -> None:
    remind(None, None, ["a-1"])
    remind(None, None, ["a-1"])
    assert WORLD == {"a-1": 1}
    assert remind.short_description == "Send the reminder"  # type: ignore[attr-defined]


def test_what_cannot_be_gated_is_refused_where_it_is_written() -> None:
    async def later(order: str) -> None: ...
    def some(order: str) -> Any:
        yield order

    def plain(order: str) -> None: ...

    for unfinished in (later, some):
        with pytest.raises(ImproperlyConfigured, match="before its work is done"):
            gated("a", target="order")(unfinished)
    with pytest.raises(ImproperlyConfigured, match=r"no parameter 'oder'.*There are: order"):
        gated("a", target="oder.pk")(plain)
    with pytest.raises(ImproperlyConfigured, match="cannot run without it"):
        gated("a", target="order", atomic=True, on_outage="run")
    with pytest.raises(ValueError, match="longer than"):
        gated("a" * 200, target="order")


def test_a_held_function_says_so_to_every_caller() -> None:
    @gated("refund.approve", target="order")
    def breaks(order: str) -> None:
        WORLD.pay(order)
        raise TimeoutError

    with pytest.raises(TimeoutError):
        breaks("o-1")
    for _ in range(2):
        with pytest.raises(gate.Held):
            breaks("o-1")
    assert WORLD == {"o-1": 1}
    assert GatedAction.objects.get().hold_reason == "the action ended with TimeoutError"


def test_it_can_be_imported_before_the_apps_are_ready() -> None:
    code = (
        "from django.conf import settings; settings.configure()\n"
        "from idempotency import NothingHappened, gated\n"
        "@gated('refund.approve', target='pk')\n"
        "def approve(pk): ...\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
