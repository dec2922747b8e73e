"""What happens without a test's doing: rounds of work, and time."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.apps import apps
from django.db import OperationalError, connection, models, transaction
from django.db.models import F, Min

from fulfilment import rounds, store
from fulfilment.models import WAITING, Attempt, Fulfilment, ProviderEvent
from fulfilment.rounds import Round
from fulfilment.states import OPEN, State
from fulfilment.testing import registering

_PATIENCE = "10s"  # for tables that another process holds; then the test is told
_LOCKED = "55P03"  # lock_not_available
_SHORTEST = timedelta(seconds=1)  # of a step, so that a row that stays due does not stop the time


def dispatch_now() -> int:
    """Send everything that is due, here and now, as a worker would. Returns how many rows."""
    return rounds.dispatch_round()


def run_round() -> Round:
    """One round of everything that is due: sweep, look-ups, events, dispatch (`run_sweeps`)."""
    return rounds.whole_round()


def make_due(fulfilment: Fulfilment) -> None:
    """Let the next sending or look-up of this row be due now, without letting time pass.

    Raises AssertionError where it waits for neither.
    """
    waiting = Fulfilment.objects.filter(
        pk=fulfilment.pk, state__in=(State.PENDING, State.NEEDS_RECONCILIATION)
    )
    if not waiting.update(next_check_at=store.now()):
        raise AssertionError(_not_waiting(Fulfilment.objects.get(pk=fulfilment.pk)))


def pass_time(by: timedelta) -> None:
    """Every time on record gets older by `by`, as if the database's clock had gone on.

    Leases end, fences and settling times are over, look-ups and parked events come due. Nothing
    runs meanwhile: that is for `run_round`, or use `run_for`. Every fake of `fake_connector` gets
    older, too. What does not: a process frozen by `frozen_at`, whose own steady clock stands
    still. After its lease it still calls, where a worker that slept as long would refuse to.

    The account of the tests has to own the tables, as it does where Django made the database.
    """
    aging = _aging()
    with transaction.atomic(), _unguarded([model._meta.db_table for model in aging]):  # noqa: SLF001
        for model in aging:
            model._base_manager.update(**{name: F(name) - by for name in _times(model)})  # noqa: SLF001
    for fake in registering.in_use:
        fake.pass_time(by)


def run_for(by: timedelta) -> int:
    """Let so much time pass, with a round whenever something comes due. Returns how many rounds."""
    ran, left = 0, by
    while left > timedelta(0):
        step = min(left, max(_until_due(left), _SHORTEST))
        pass_time(step)
        run_round()
        ran, left = ran + 1, left - step
    return ran


def _not_waiting(row: Fulfilment) -> str:
    if row.state == State.DISPATCHING:
        return (
            "it is dispatching: a worker has it until its lease is over (let it pass by pass_time)"
        )
    return f"nothing is due any more: it is {row.state}"


def _until_due(most: timedelta) -> timedelta:
    rows = Fulfilment.objects.filter(state__in=OPEN).exclude(state=State.DISPATCHING)
    leases = Attempt.objects.filter(closed_at__isnull=True)
    events = ProviderEvent.objects.filter(status__in=WAITING)
    moments = (
        rows.aggregate(at=Min("next_check_at"))["at"],
        leases.aggregate(at=Min("lease_until"))["at"],
        events.aggregate(at=Min("next_check_at"))["at"],
    )
    due: list[datetime] = [moment for moment in moments if moment is not None]
    return min(due) - store.now() if due else most


def _aging() -> list[type[models.Model]]:
    found = apps.get_app_config("fulfilment").get_models()
    return [model for model in found if not model._meta.proxy and _times(model)]  # noqa: SLF001


def _times(model: type[models.Model]) -> list[str]:
    fields = model._meta.get_fields()  # noqa: SLF001
    return [field.name for field in fields if isinstance(field, models.DateTimeField)]


@contextmanager
def _unguarded(tables: list[str]) -> Iterator[None]:
    """What is written once stays: only the owner of a table may set its guard aside.

    That needs tables of which nothing is left to be checked at commit, before and after.
    """
    connection.check_constraints()
    _switch(tables, "DISABLE")
    yield
    connection.check_constraints()
    _switch(tables, "ENABLE")


def _switch(tables: list[str], how: str) -> None:
    names = map(connection.ops.quote_name, tables)
    switches = [f"ALTER TABLE {name} {how} TRIGGER USER" for name in names]
    try:
        with connection.cursor() as cursor:
            cursor.execute("; ".join([f"SET LOCAL lock_timeout = '{_PATIENCE}'", *switches]))
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") != _LOCKED:
            raise
        raise AssertionError(
            "another connection is in the middle of a transaction on these rows, so their times "
            "cannot be moved: let it end first"
        ) from error
