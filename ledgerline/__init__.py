"""The Ledgerline service: a small bank on top of the apps `idempotency` and `fulfilment`."""
