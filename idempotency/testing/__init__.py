"""For the tests of a project whose views are guarded: every helper says in words what is broken.

    from idempotency.testing import at_once, killed_at, replay

    def test_an_order_is_placed_once(keyed_client):
        replay(lambda: keyed_client.post("/orders", {"sku": 1}), effects=Order.objects.count)

With pytest, `pytest_plugins = ["idempotency.testing.fixtures"]` brings `keyed_client` and
`idempotency_key`; nothing else here needs pytest. What runs threads or processes needs rows that
are committed: `TransactionTestCase`, or `@pytest.mark.django_db(transaction=True)`.
"""

from idempotency.checkpoints import POINTS
from idempotency.testing.actions import expire_action
from idempotency.testing.answers import Told
from idempotency.testing.keys import clean_keys, expire_lease, held, record_of
from idempotency.testing.processes import Checkpoints, Frozen, frozen_at, killed_at
from idempotency.testing.sending import at_once, replay

__all__ = [
    "POINTS",
    "Checkpoints",
    "Frozen",
    "Told",
    "at_once",
    "clean_keys",
    "expire_action",
    "expire_lease",
    "frozen_at",
    "held",
    "killed_at",
    "record_of",
    "replay",
]
