"""The rules of the machine, held by the database, so that a slip in the code cannot move money.

The pairs below are `fulfilment.states.MOVES`, written out: a migration never changes with the code.
A test compares the two.
"""

from django.db import migrations

MACHINE = """
CREATE FUNCTION fulfilment_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'fulfilment %: rows are records and are never deleted', OLD.reference
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_never_deleted';
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW.state <> 'pending' OR NEW.version <> 0 THEN
            RAISE EXCEPTION 'fulfilment %: begins as pending, version 0, not as %, version %',
                NEW.reference, NEW.state, NEW.version
                USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_begins_pending';
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.id, NEW.kind, NEW.event_id, NEW.payment_id, NEW.generation, NEW.reference, NEW.connector,
        NEW.amount, NEW.currency, NEW.instruction, NEW.started_by, NEW.created_at)
        IS DISTINCT FROM
       (OLD.id, OLD.kind, OLD.event_id, OLD.payment_id, OLD.generation, OLD.reference, OLD.connector,
        OLD.amount, OLD.currency, OLD.instruction, OLD.started_by, OLD.created_at) THEN
        RAISE EXCEPTION 'fulfilment %: what it is for never changes', OLD.reference
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_identity_fixed';
    END IF;
    IF NEW.state = OLD.state THEN
        IF NEW.version <> OLD.version THEN
            RAISE EXCEPTION 'fulfilment %: the version moves with the state only', OLD.reference
                USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_version_follows_state';
        END IF;
        RETURN NEW;
    END IF;
    IF (OLD.state, NEW.state) NOT IN (
        ('pending', 'dispatching'),
        ('pending', 'needs_reconciliation'),
        ('pending', 'cancelled'),
        ('dispatching', 'fulfilled'),
        ('dispatching', 'needs_reconciliation'),
        ('needs_reconciliation', 'fulfilled'),
        ('needs_reconciliation', 'failed'),
        ('needs_reconciliation', 'pending'),
        ('fulfilled', 'reversed'),
        ('failed', 'fulfilled')
    ) THEN
        RAISE EXCEPTION 'fulfilment %: there is no way from % to %', OLD.reference, OLD.state, NEW.state
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_transition_known';
    END IF;
    IF NEW.version <> OLD.version + 1 THEN
        RAISE EXCEPTION 'fulfilment %: a move from version % makes version %, not %',
            OLD.reference, OLD.version, OLD.version + 1, NEW.version
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_version_by_one';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fulfilment_guard BEFORE INSERT OR UPDATE OR DELETE ON fulfilment
    FOR EACH ROW EXECUTE FUNCTION fulfilment_guard();
"""

# Checked at commit, because the row and its journal are written by two statements. It reads the
# row as it is then: several moves in one transaction (a refusal passes through
# needs_reconciliation) are judged together.
JOURNAL = """
CREATE FUNCTION fulfilment_journalled() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    subject bigint;
    now_at record;
    journalled bigint;
    last_state text;
BEGIN
    IF TG_TABLE_NAME = 'fulfilment' THEN subject := NEW.id; ELSE subject := NEW.fulfilment_id; END IF;
    SELECT reference, state, version INTO now_at FROM fulfilment WHERE id = subject;
    SELECT count(*), (array_agg(after ORDER BY version DESC))[1] INTO journalled, last_state
        FROM fulfilment_transition WHERE fulfilment_id = subject;
    IF journalled < now_at.version THEN
        RAISE EXCEPTION 'fulfilment %: a state changed without its journal row (version %, % rows)',
            now_at.reference, now_at.version, journalled
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_journal_complete';
    END IF;
    IF journalled > now_at.version OR coalesce(last_state, 'pending') <> now_at.state THEN
        RAISE EXCEPTION 'fulfilment %: the journal tells of a move that was not made', now_at.reference
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_journal_true';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER fulfilment_journalled AFTER INSERT OR UPDATE OF state, version ON fulfilment
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fulfilment_journalled();
CREATE CONSTRAINT TRIGGER fulfilment_transition_true AFTER INSERT ON fulfilment_transition
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fulfilment_journalled();
"""

ATTEMPT = """
CREATE FUNCTION fulfilment_attempt_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'attempt %: attempts are never deleted', OLD.token
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_attempt_never_deleted';
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NOT NEW.maybe_sent AND (NEW.sent_at IS NOT NULL OR NEW.closed_at IS NOT NULL) THEN
            RAISE EXCEPTION 'attempt %: begins open and not sent', NEW.token
                USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_attempt_begins_open';
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.id, NEW.fulfilment_id, NEW.number, NEW.token, NEW.worker, NEW.claimed_at, NEW.lease_until)
        IS DISTINCT FROM
       (OLD.id, OLD.fulfilment_id, OLD.number, OLD.token, OLD.worker, OLD.claimed_at, OLD.lease_until)
       OR (OLD.sent_at IS NOT NULL AND NEW.sent_at IS DISTINCT FROM OLD.sent_at)
       OR (OLD.closed_at IS NOT NULL AND NEW.closed_at IS DISTINCT FROM OLD.closed_at)
       OR (OLD.outcome IS NOT NULL AND NEW.outcome IS DISTINCT FROM OLD.outcome)
       OR (OLD.maybe_sent AND NOT NEW.maybe_sent) THEN
        RAISE EXCEPTION 'attempt %: what is written of an attempt stays', OLD.token
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_attempt_written_once';
    END IF;
    IF OLD.closed_at IS NOT NULL AND OLD.sent_at IS NULL AND NEW.sent_at IS NOT NULL THEN
        RAISE EXCEPTION 'attempt %: a closed attempt cannot send', OLD.token
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_attempt_closed_cannot_send';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fulfilment_attempt_guard BEFORE INSERT OR UPDATE OR DELETE ON fulfilment_attempt
    FOR EACH ROW EXECUTE FUNCTION fulfilment_attempt_guard();
"""

# Retention may delete a payload (its digest stays with the evidence); nobody may change one.
RECORDS = """
CREATE FUNCTION fulfilment_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_append_only';
END $$;
CREATE TRIGGER fulfilment_transition_append_only BEFORE UPDATE OR DELETE ON fulfilment_transition
    FOR EACH ROW EXECUTE FUNCTION fulfilment_append_only();
CREATE TRIGGER fulfilment_evidence_append_only BEFORE UPDATE OR DELETE ON fulfilment_evidence
    FOR EACH ROW EXECUTE FUNCTION fulfilment_append_only();
CREATE TRIGGER fulfilment_case_action_append_only BEFORE UPDATE OR DELETE ON fulfilment_case_action
    FOR EACH ROW EXECUTE FUNCTION fulfilment_append_only();
CREATE TRIGGER fulfilment_payload_unchanged BEFORE UPDATE ON fulfilment_payload
    FOR EACH ROW EXECUTE FUNCTION fulfilment_append_only();
CREATE TRIGGER fulfilment_case_never_deleted BEFORE DELETE ON fulfilment_case
    FOR EACH ROW EXECUTE FUNCTION fulfilment_append_only();
"""

UNDO = """
DROP TRIGGER fulfilment_case_never_deleted ON fulfilment_case;
DROP TRIGGER fulfilment_payload_unchanged ON fulfilment_payload;
DROP TRIGGER fulfilment_case_action_append_only ON fulfilment_case_action;
DROP TRIGGER fulfilment_evidence_append_only ON fulfilment_evidence;
DROP TRIGGER fulfilment_transition_append_only ON fulfilment_transition;
DROP TRIGGER fulfilment_attempt_guard ON fulfilment_attempt;
DROP TRIGGER fulfilment_transition_true ON fulfilment_transition;
DROP TRIGGER fulfilment_journalled ON fulfilment;
DROP TRIGGER fulfilment_guard ON fulfilment;
DROP FUNCTION fulfilment_append_only();
DROP FUNCTION fulfilment_attempt_guard();
DROP FUNCTION fulfilment_journalled();
DROP FUNCTION fulfilment_guard();
"""


class Migration(migrations.Migration):
    dependencies = [("fulfilment", "0001_initial")]

    operations = [
        migrations.RunSQL(MACHINE + JOURNAL + ATTEMPT + RECORDS, UNDO),
    ]
