"""The stage of the killed workers, for those who live."""

from tests.concurrency.killed.conftest import counterparty as counterparty
from tests.concurrency.killed.conftest import nursery as nursery
from tests.concurrency.killed.conftest import stage as stage
