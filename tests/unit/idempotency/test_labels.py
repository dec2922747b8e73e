"""What clients choose must not fill the monitoring's memory."""

from concurrent.futures import ThreadPoolExecutor

from idempotency.metrics import OTHER, Bounded


def test_the_first_values_keep_their_names_and_later_ones_share_one() -> None:
    bounded = Bounded(2)
    assert [bounded(name) for name in ("a", "b", "c", "a", "d", "b")] == [
        "a", "b", OTHER, "a", OTHER, "b",
    ]  # fmt: skip


def test_the_bound_holds_for_threads_that_come_at_once() -> None:
    bounded = Bounded(50)
    with ThreadPoolExecutor(16) as pool:
        seen = set(pool.map(bounded, (f"app/{number}" for number in range(2000))))
    assert len(seen) == 51
    assert OTHER in seen
