"""What holds over the whole database and the provider's books, whatever was done to them: G1 to G7.

    invariants.hold(invariants.sandbox_books(sandbox))

Each raises an `AssertionError` that names what is broken and, where it can, why.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import Any

from django.db.models import Count, F, Q, Sum
from django.db.models.functions import Coalesce

from fulfilment import store
from fulfilment.models import Attempt, Fulfilment, Transition
from fulfilment.states import OPEN, State
from idempotency import reference_of
from idempotency.models import IdempotencyKey
from ledgerline.bank.models import Account, Entry, Hold, Posting, Transfer

SWEEP = timedelta(seconds=30)  # how long something may wait for a sweep that has been idle


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """A provider's books, by our reference: what left it, and what came back of that."""

    left: Counter[str] = field(default_factory=Counter)
    back: Counter[str] = field(default_factory=Counter)


def hold(effects: Effects, *, answers: Iterable[Any] = ()) -> None:
    """All of them. `answers`: what clients were told meanwhile, while no fault was injected."""
    one_transfer_per_key()
    one_effect_per_payment(effects)
    no_server_error(answers)
    no_key_in_progress_without_a_reason()
    nothing_dispatching_past_its_lease()
    one_audit_row_per_change()
    the_books_balance()
    the_books_say_what_the_machine_says()


def sandbox_books(sandbox: Any) -> Effects:
    """What the sandbox provider has booked."""
    effects = Effects()
    for payment in sandbox.books()["payments"]:
        effects.left[payment["reference"]] += payment["status"] in {"succeeded", "reversed"}
        effects.back[payment["reference"]] += payment["status"] == "reversed"
    return effects


def one_transfer_per_key() -> None:
    """G1."""
    twice = Transfer.objects.values("user_id", "idempotency_key").annotate(n=Count("pk"))
    assert not twice.filter(n__gt=1), "G1: a key has two transfers: the reference is not unique"


def one_effect_per_payment(effects: Effects) -> None:
    """G2, and that the verdict is what the provider's books say."""
    left: Counter[str] = Counter()
    for row in Fulfilment.objects.annotate(asked=Count("cases", filter=Q(cases__closed_at=None))):
        left[row.payment_id] += effects.left[row.reference]
        if not row.asked:
            _is_true(row, effects)
    twice = {payment: count for payment, count in left.items() if count > 1}
    assert not twice, f"G2: paid more than once: {twice}: a reference was new, or not deduplicated"


def no_server_error(answers: Iterable[Any]) -> None:
    """G3."""
    errors = [answer for answer in answers if answer.status_code >= 500]
    assert not errors, f"G3: a client was told {errors[0].status_code}: {errors[0].content!r}"


def no_key_in_progress_without_a_reason() -> None:
    """G4: leased and in time, or held, or deferred with an open fulfilment."""
    running = IdempotencyKey.objects.filter(status="in_progress", held_at=None)
    late = running.filter(locked_until__lt=store.now() - SWEEP).count()
    assert not late, f"G4: {late} keys are leased past their lease and a sweep"
    deferred = running.filter(locked_until=None).values_list("user_id", "key")
    payments = {f"transfer:{reference_of(scope, key)}" for scope, key in deferred}
    waiting = Fulfilment.objects.filter(payment_id__in=payments, state__in=OPEN)
    stuck = payments - set(waiting.values_list("payment_id", flat=True))
    assert not stuck, f"G4: decided, and their keys were never told: {sorted(stuck)}"


def nothing_dispatching_past_its_lease() -> None:
    """G5."""
    alive = Attempt.objects.filter(closed_at=None, lease_until__gt=store.now() - SWEEP)
    dispatching = Fulfilment.objects.filter(state=State.DISPATCHING)
    lost = dispatching.exclude(pk__in=alive.values("fulfilment"))
    assert not lost, f"G5: nobody took these back from their dead workers: {list(lost)}"
    due = Fulfilment.objects.filter(state__in=OPEN, next_check_at=None)
    assert not due, f"nobody will ever look at these again: {list(due)}"


def one_audit_row_per_change() -> None:
    """G6: the journal of each row is one path, from its start to where it is, with names."""
    journal: dict[int, list[Transition]] = {}
    for moved in Transition.objects.order_by("fulfilment", "version"):
        journal.setdefault(moved.fulfilment_id, []).append(moved)
    for row in Fulfilment.objects.all():
        moves = journal.get(row.pk, [])
        assert [m.version for m in moves] == list(range(1, row.version + 1)), (
            f"G6: {row} is at version {row.version}, and its journal has {moves}"
        )
        states = ["pending", *(m.after for m in moves)]
        assert [m.before for m in moves] == states[:-1], f"G6: {row} jumped: {moves}"
        assert states[-1] == row.state, f"G6: {row} is {row.state}, its journal ends at {moves}"
        assert all(m.actor for m in moves), f"G6: nobody moved {row}: {moves}"
        assert all(a.moved_at <= b.moved_at for a, b in pairwise(moves)), f"G6: {row}: {moves}"


def the_books_balance() -> None:
    """G7: each posting, each account, each hold."""
    odd = Entry.objects.values("posting", "currency").annotate(sum=Sum("amount"))
    assert not odd.exclude(sum=0), "G7: a posting does not sum to zero"
    open_holds = Sum("holds__amount", filter=Q(holds__state="open"), default=0)
    customers = Account.objects.filter(kind=Account.Kind.CUSTOMER)
    wrong = customers.annotate(are_held=open_holds).exclude(held=F("are_held"))
    assert not wrong, f"G7: held money is not the open holds: {list(wrong)}"
    wrong = customers.annotate(sum=Coalesce(Sum("entries__amount"), 0)).exclude(balance=F("sum"))
    assert not wrong, f"G7: a balance is not the sum of its entries: {list(wrong)}"


def the_books_say_what_the_machine_says() -> None:
    """G7: for each transfer its state, its hold and its postings are those of its outcome."""
    states = dict(Fulfilment.objects.order_by("generation").values_list("payment_id", "state"))
    for transfer in Transfer.objects.exclude(to_bank=""):
        state = states[f"transfer:{transfer.reference}"]
        expected = "pending" if State(state).is_open else state
        assert transfer.state == expected, f"G7: {transfer} is {transfer.state}, not {expected}"
        kinds = [*Posting.objects.filter(transfer=transfer).values_list("kind", flat=True)]
        holds = [*Hold.objects.filter(transfer=transfer).values_list("state", flat=True)]
        assert (sorted(kinds), holds) in _BOOKED[expected], (
            f"G7: {transfer} is {expected}, with the postings {kinds} and the holds {holds}"
        )


# Of an outcome: the postings, and what became of the hold.
_BOOKED: dict[str, list[tuple[list[str], list[str]]]] = {
    "pending": [([], ["open"])],
    "fulfilled": [(["capture"], ["captured"]), (["correction"], ["released"])],
    "failed": [([], ["released"]), (["paid_twice"], ["released"])],
    "cancelled": [([], ["released"])],
    "reversed": [
        (["capture", "reversal"], ["captured"]),
        (["correction", "reversal"], ["released"]),
    ],
}


def _is_true(row: Fulfilment, effects: Effects) -> None:
    """A verdict that no case is open about; an open row may be anything that it can become."""
    left, back = effects.left[row.reference], effects.back[row.reference]
    match State(row.state):
        case State.FULFILLED:
            # what came back later is not known before somebody says so
            assert left == 1, f"G2: {row} is fulfilled, and {left} payments left the provider"
        case State.REVERSED:
            assert (left, back) == (1, 1), f"G2: {row} is reversed; the provider: {left}, {back}"
        case State.FAILED | State.CANCELLED:
            assert left == 0, f"G2: {row} is {row.state}, and {left} payments left the provider"
        case _:
            assert left <= 1, f"G2: {left} payments left the provider for {row}"
