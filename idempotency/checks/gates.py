"""What would let an action through twice: a name that changes, and a constraint that is not there."""

from collections.abc import Iterator, Sequence

from django.core.checks import CheckMessage
from django.core.checks import Warning as CheckWarning
from django.db import connections

from idempotency import conf
from idempotency.gate import declarations
from idempotency.gate.naming import suspicious


def check_gates(**_: object) -> Sequence[CheckMessage]:
    """W003 for every gated function that is named by what differs between two tries."""
    return list(_names())


def check_slots(*, databases: Sequence[str] | None = None, **_: object) -> Sequence[CheckMessage]:
    """W004, with `manage.py check --database`: the constraint that is the gate is not in force."""
    alias = conf.current().database
    return list(_constraint(alias)) if alias in (databases or ()) else []


def _names() -> Iterator[CheckMessage]:
    for declared in declarations.all_declared():
        for part, naming in (("target", declared.target), ("key", declared.key)):
            name = suspicious(naming)
            if name is not None:
                yield CheckWarning(
                    f"The {part} of the action {declared.action!r} ({declared.function}) is named by "
                    f"{name!r}, which looks like the id of one try.",
                    hint="A retry would have another one and run the action again. Name what the "
                    "action is done to; or, if this name is the same in every try, add "
                    "idempotency.W003 to SILENCED_SYSTEM_CHECKS.",
                    id="idempotency.W003",
                )


# Of either form: NULLS NOT DISTINCT over all five, or a partial index over the four for those
# without a namespace.
_COVERS_NULL = """
SELECT to_regclass('idempotency_actions') IS NULL OR EXISTS (  -- not migrated yet: Django says so
    SELECT FROM pg_index
     WHERE indrelid = to_regclass('idempotency_actions') AND indisunique AND indisvalid
       AND (to_jsonb(pg_index) ->> 'indnullsnotdistinct' = 'true'
            OR pg_get_expr(indpred, indrelid) ILIKE '%namespace IS NULL%')
)
"""


def _constraint(alias: str) -> Iterator[CheckMessage]:
    with connections[alias].cursor() as cursor:
        cursor.execute(_COVERS_NULL)
        [covered] = cursor.fetchone()
    if not covered:
        yield CheckWarning(
            f"The database {alias!r} has no unique index on idempotency_actions that counts two "
            "actions without a namespace as one: two callers at once would both run.",
            hint="Migrate. NULLS NOT DISTINCT needs PostgreSQL 15; on an older one create the pair of "
            "indexes of idempotency.uniqueness.unique_with_null(portable=True) in a migration.",
            id="idempotency.W004",
        )
