"""What is on record stays there: no table of it is emptied, a case keeps what it says."""

from django.db import migrations

KEPT = (
    "fulfilment",
    "fulfilment_attempt",
    "fulfilment_evidence",
    "fulfilment_payload",
    "fulfilment_transition",
    "fulfilment_case",
    "fulfilment_case_action",
    "provider_event",
    "provider_event_payload",
    "provider_event_conflict",
    "provider_event_action",
)

# TRUNCATE goes past every trigger on rows. An empty table may be truncated: that loses nothing, and
# it is what Django's TransactionTestCase does to every table.
_FUNCTION = """
DROP TRIGGER provider_event_action_never_emptied ON provider_event_action;
CREATE FUNCTION fulfilment_never_emptied() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    has_rows boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %I.%I)', TG_TABLE_SCHEMA, TG_TABLE_NAME) INTO has_rows;
    IF has_rows THEN
        RAISE EXCEPTION '%: what is on record stays; TRUNCATE is refused', TG_TABLE_NAME
            USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_never_emptied',
                  HINT = 'A test that commits rows forgets them with fulfilment.testing.clean_fulfilments.';
    END IF;
    RETURN NULL;
END $$;
"""
_TRIGGER = """
CREATE TRIGGER {0}_never_emptied BEFORE TRUNCATE ON {0}
    FOR EACH STATEMENT EXECUTE FUNCTION fulfilment_never_emptied();
"""
EMPTYING = "".join([_FUNCTION, *(_TRIGGER.format(table) for table in KEPT)])
EMPTIED = "".join(f"DROP TRIGGER {table}_never_emptied ON {table};\n" for table in KEPT) + (
    """DROP FUNCTION fulfilment_never_emptied();
CREATE TRIGGER provider_event_action_never_emptied BEFORE TRUNCATE ON provider_event_action
    FOR EACH STATEMENT EXECUTE FUNCTION fulfilment_append_only();
"""
)

CASE = """
CREATE FUNCTION fulfilment_case_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.id, NEW.fulfilment_id, NEW.opened_at, NEW.opened_by)
        IS DISTINCT FROM (OLD.id, OLD.fulfilment_id, OLD.opened_at, OLD.opened_by)
       OR (OLD.closed_at IS NOT NULL AND (NEW.closed_at, NEW.closed_by, NEW.reason)
            IS DISTINCT FROM (OLD.closed_at, OLD.closed_by, OLD.reason)) THEN
        RAISE EXCEPTION 'case %: what it is about and how it ended stays', OLD.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_case_written_once';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fulfilment_case_guard BEFORE UPDATE ON fulfilment_case
    FOR EACH ROW EXECUTE FUNCTION fulfilment_case_guard();
"""
UNDO_CASE = """
DROP TRIGGER fulfilment_case_guard ON fulfilment_case;
DROP FUNCTION fulfilment_case_guard();
"""


class Migration(migrations.Migration):
    dependencies = [("fulfilment", "0010_machine_guards")]

    operations = [
        migrations.RunSQL(EMPTYING, EMPTIED),
        migrations.RunSQL(CASE, UNDO_CASE),
    ]
