"""What each move needs, held by the database beside the ways themselves (0002).

An attempt and the state `dispatching` go together, a verdict names its evidence, nothing fails that
may still be under way, and a new reference of a payment begins in the transaction of the failure.
"""

from importlib import import_module

from django.db import migrations

# At the moment of the move, so that its mover is told. What an attempt proves is `reconcile.attempts`'
# to say; this is the part of it that holds under any settings.
MOVE = """
CREATE FUNCTION fulfilment_move_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.decided_at IS NULL) <> (NEW.state IN ('pending', 'dispatching', 'needs_reconciliation')) THEN
        RAISE EXCEPTION 'fulfilment %: a verdict, and only a verdict, has its time', OLD.reference
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_decided_with_time';
    END IF;
    IF (NEW.state = 'dispatching') <> EXISTS (SELECT FROM fulfilment_attempt
                                               WHERE fulfilment_id = OLD.id AND closed_at IS NULL) THEN
        RAISE EXCEPTION 'fulfilment %: an attempt that is open is being sent, and nothing else is',
            OLD.reference
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_dispatching_by_open_attempt';
    END IF;
    IF NEW.state = 'failed' AND EXISTS (
        SELECT FROM fulfilment_attempt AS a
         WHERE a.fulfilment_id = OLD.id
           AND (a.sent_at IS NOT NULL OR a.maybe_sent)
           AND a.lease_until > clock_timestamp()
           AND NOT EXISTS (SELECT FROM fulfilment_evidence AS e
                            WHERE e.fulfilment_id = OLD.id AND e.attempt_id = a.id
                              AND e.source = 'response' AND e.finding <> 'unknown')) THEN
        RAISE EXCEPTION 'fulfilment %: an attempt may still be under way, and could still pay',
            OLD.reference
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_failed_when_fenced';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fulfilment_move_guard BEFORE UPDATE OF state ON fulfilment
    FOR EACH ROW WHEN (NEW.state <> OLD.state) EXECUTE FUNCTION fulfilment_move_guard();
-- Only where there is a way to it, or the attempt would be named where the way is missing.
DROP TRIGGER fulfilment_cancel_guard ON fulfilment;
CREATE TRIGGER fulfilment_cancel_guard BEFORE UPDATE OF state ON fulfilment
    FOR EACH ROW WHEN (NEW.state = 'cancelled' AND OLD.state = 'pending')
    EXECUTE FUNCTION fulfilment_cancel_guard();

CREATE FUNCTION fulfilment_stamps_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'fulfilment %: when it was moved and decided changes with the state only',
        OLD.reference
        USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_stamps_follow_state';
END $$;
CREATE TRIGGER fulfilment_stamps_guard BEFORE UPDATE OF decided_at, state_changed_at ON fulfilment
    FOR EACH ROW WHEN (NEW.state = OLD.state AND (NEW.decided_at, NEW.state_changed_at)
                       IS DISTINCT FROM (OLD.decided_at, OLD.state_changed_at))
    EXECUTE FUNCTION fulfilment_stamps_guard();
"""

# A journal row is written right after its move, so each is compared with the row as it is. That there
# is one for each move shows only at commit; so does an attempt that ends (or begins) without a move.
JOURNAL = """
DROP TRIGGER fulfilment_transition_true ON fulfilment_transition;
DROP TRIGGER fulfilment_journalled ON fulfilment;
CREATE OR REPLACE FUNCTION fulfilment_journalled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM fulfilment_transition
                    WHERE fulfilment_id = NEW.id AND version = NEW.version) THEN
        RAISE EXCEPTION 'fulfilment %: a state changed without its journal row (version %)',
            NEW.reference, NEW.version
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_journal_complete';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER fulfilment_journalled AFTER UPDATE OF state, version ON fulfilment
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.version <> OLD.version)
    EXECUTE FUNCTION fulfilment_journalled();

CREATE FUNCTION fulfilment_transition_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    now_at fulfilment%ROWTYPE;
    said fulfilment_evidence%ROWTYPE;
    last_state text;
BEGIN
    SELECT * INTO now_at FROM fulfilment WHERE id = NEW.fulfilment_id;
    SELECT after INTO last_state FROM fulfilment_transition
     WHERE fulfilment_id = NEW.fulfilment_id AND version = NEW.version - 1;
    IF NEW.version = 0 OR (NEW.version, NEW.before, NEW.after)
        IS DISTINCT FROM (now_at.version, coalesce(last_state, 'pending'), now_at.state) THEN
        RAISE EXCEPTION 'fulfilment %: the journal tells of a move that was not made', now_at.reference
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_journal_true';
    END IF;
    SELECT * INTO said FROM fulfilment_evidence WHERE id = NEW.evidence_id;
    IF said.fulfilment_id <> NEW.fulfilment_id OR EXISTS (
        SELECT FROM fulfilment_attempt
         WHERE id = NEW.attempt_id AND fulfilment_id <> NEW.fulfilment_id) THEN
        RAISE EXCEPTION 'fulfilment %: a move goes by its own attempt and evidence', now_at.reference
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_transition_by_its_own';
    END IF;
    IF NEW.after NOT IN ('fulfilled', 'failed', 'reversed') THEN
        RETURN NEW;
    END IF;
    IF said.conclusive IS DISTINCT FROM true OR (NEW.after, said.finding) NOT IN (
        ('fulfilled', 'done'), ('fulfilled', 'reversed'), ('failed', 'not_done'), ('reversed', 'reversed')
    ) THEN
        RAISE EXCEPTION 'fulfilment %: no conclusive evidence is named that it is %',
            now_at.reference, NEW.after
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_verdict_on_evidence';
    END IF;
    IF NEW.before = 'failed' AND said.source <> 'person' THEN
        RAISE EXCEPTION 'fulfilment %: a failure is corrected by a person only', now_at.reference
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_corrected_by_a_person';
    END IF;
    IF said.finding IN ('done', 'reversed') AND said.amount IS NOT NULL
       AND (said.amount, said.currency) <> (now_at.amount, now_at.currency) THEN
        RAISE EXCEPTION 'fulfilment %: the evidence is about another amount or currency',
            now_at.reference
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_verdict_on_the_same_amount';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fulfilment_transition_guard BEFORE INSERT ON fulfilment_transition
    FOR EACH ROW EXECUTE FUNCTION fulfilment_transition_guard();

CREATE FUNCTION fulfilment_attempt_held() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    subject record;
BEGIN
    SELECT reference, state = 'dispatching' AS is_sent, EXISTS (
               SELECT FROM fulfilment_attempt
                WHERE fulfilment_id = NEW.fulfilment_id AND closed_at IS NULL) AS is_open
      INTO subject FROM fulfilment WHERE id = NEW.fulfilment_id;
    IF subject.is_sent <> subject.is_open THEN
        RAISE EXCEPTION 'fulfilment %: an attempt began or ended without its move', subject.reference
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_attempt_moves_its_row';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER fulfilment_attempt_held AFTER INSERT OR UPDATE OF closed_at
    ON fulfilment_attempt DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION fulfilment_attempt_held();
"""

RECORDS = """
CREATE FUNCTION fulfilment_evidence_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM fulfilment_attempt
                    WHERE id = NEW.attempt_id AND fulfilment_id = NEW.fulfilment_id) THEN
        RAISE EXCEPTION 'evidence is about an attempt of its own fulfilment (%)', NEW.fulfilment_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_evidence_of_its_own_attempt';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fulfilment_evidence_guard BEFORE INSERT ON fulfilment_evidence
    FOR EACH ROW WHEN (NEW.attempt_id IS NOT NULL) EXECUTE FUNCTION fulfilment_evidence_guard();

CREATE FUNCTION fulfilment_generation_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    earlier fulfilment%ROWTYPE;
BEGIN
    SELECT * INTO earlier FROM fulfilment
     WHERE payment_id = NEW.payment_id AND generation = NEW.generation - 1;
    IF earlier.state IS DISTINCT FROM 'failed' OR earlier.decided_at < transaction_timestamp() THEN
        RAISE EXCEPTION 'payment %: generation % begins in the transaction in which % failed, or never',
            NEW.payment_id, NEW.generation, NEW.generation - 1
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_generation_follows_failure';
    END IF;
    IF (NEW.event_id, NEW.kind, NEW.amount, NEW.currency)
        <> (earlier.event_id, earlier.kind, earlier.amount, earlier.currency) THEN
        RAISE EXCEPTION 'payment %: every generation pays for the same', NEW.payment_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_generation_of_the_same';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fulfilment_generation_guard BEFORE INSERT ON fulfilment
    FOR EACH ROW WHEN (NEW.generation > 1) EXECUTE FUNCTION fulfilment_generation_guard();
"""

_BEFORE = import_module("fulfilment.migrations.0002_guards")

UNDO = f"""
DROP TRIGGER fulfilment_generation_guard ON fulfilment;
DROP TRIGGER fulfilment_evidence_guard ON fulfilment_evidence;
DROP TRIGGER fulfilment_attempt_held ON fulfilment_attempt;
DROP TRIGGER fulfilment_transition_guard ON fulfilment_transition;
DROP TRIGGER fulfilment_journalled ON fulfilment;
DROP TRIGGER fulfilment_stamps_guard ON fulfilment;
DROP TRIGGER fulfilment_move_guard ON fulfilment;
DROP TRIGGER fulfilment_cancel_guard ON fulfilment;
CREATE TRIGGER fulfilment_cancel_guard BEFORE UPDATE OF state ON fulfilment
    FOR EACH ROW WHEN (NEW.state = 'cancelled' AND OLD.state <> 'cancelled')
    EXECUTE FUNCTION fulfilment_cancel_guard();
DROP FUNCTION fulfilment_generation_guard();
DROP FUNCTION fulfilment_evidence_guard();
DROP FUNCTION fulfilment_attempt_held();
DROP FUNCTION fulfilment_transition_guard();
DROP FUNCTION fulfilment_journalled();
DROP FUNCTION fulfilment_stamps_guard();
DROP FUNCTION fulfilment_move_guard();
{_BEFORE.JOURNAL}
"""


class Migration(migrations.Migration):
    dependencies = [("fulfilment", "0009_event_set_aside")]

    operations = [
        migrations.RunSQL(MOVE + JOURNAL + RECORDS, UNDO),
    ]
