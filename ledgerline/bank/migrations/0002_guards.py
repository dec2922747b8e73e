"""The books' rules as triggers: a slip in the code cannot move money that is not there."""

from django.db import migrations

# Deferred, because a posting is whole only when all its entries are in: checked at commit.
ZERO_SUM = """
CREATE FUNCTION bank_posting_balanced() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    posting bigint;
    odd record;
BEGIN
    IF TG_TABLE_NAME = 'bank_entry' THEN
        posting := NEW.posting_id;
    ELSE
        posting := NEW.id;
    END IF;
    IF NOT EXISTS (SELECT FROM bank_entry e WHERE e.posting_id = posting) THEN
        RAISE EXCEPTION 'posting % has no entries', posting
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_posting_balanced';
    END IF;
    SELECT e.currency, sum(e.amount) AS total INTO odd
        FROM bank_entry e WHERE e.posting_id = posting
        GROUP BY e.currency HAVING sum(e.amount) <> 0 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'posting % does not sum to zero: % %', posting, odd.total, odd.currency
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_posting_balanced';
    END IF;
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER bank_posting_balanced AFTER INSERT ON bank_posting
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION bank_posting_balanced();
CREATE CONSTRAINT TRIGGER bank_entry_balanced AFTER INSERT ON bank_entry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION bank_posting_balanced();
"""

# A correction is a new posting; what was written stays. An empty table may be truncated.
APPEND_ONLY = """
CREATE FUNCTION bank_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    filled boolean := true;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM %I.%I)', TG_TABLE_SCHEMA, TG_TABLE_NAME)
            INTO filled;
    END IF;
    IF filled THEN
        RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
            USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_append_only';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER bank_entry_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON bank_entry
    FOR EACH STATEMENT EXECUTE FUNCTION bank_append_only();
CREATE TRIGGER bank_posting_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON bank_posting
    FOR EACH STATEMENT EXECUTE FUNCTION bank_append_only();
CREATE TRIGGER bank_transfer_kept BEFORE DELETE OR TRUNCATE ON bank_transfer
    FOR EACH STATEMENT EXECUTE FUNCTION bank_append_only();
CREATE TRIGGER bank_hold_kept BEFORE DELETE OR TRUNCATE ON bank_hold
    FOR EACH STATEMENT EXECUTE FUNCTION bank_append_only();
"""

# The materialised columns follow the rows they sum up, whoever inserts them.
MATERIALISED = """
ALTER TABLE bank_entry ADD CONSTRAINT bank_entry_currency_of_account
    FOREIGN KEY (account_id, currency) REFERENCES bank_account (id, currency);

CREATE FUNCTION bank_entry_moves_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE bank_account SET balance = balance + NEW.amount
        WHERE id = NEW.account_id AND kind = 'customer';
    RETURN NULL;
END $$;
CREATE TRIGGER bank_entry_moves_balance AFTER INSERT ON bank_entry
    FOR EACH ROW EXECUTE FUNCTION bank_entry_moves_balance();

CREATE FUNCTION bank_hold_moves_held() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE bank_account SET held = held + NEW.amount WHERE id = NEW.account_id;
    ELSE
        UPDATE bank_account SET held = held - OLD.amount WHERE id = OLD.account_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER bank_hold_placed AFTER INSERT ON bank_hold
    FOR EACH ROW WHEN (NEW.state = 'open') EXECUTE FUNCTION bank_hold_moves_held();
CREATE TRIGGER bank_hold_closed AFTER UPDATE ON bank_hold
    FOR EACH ROW WHEN (OLD.state = 'open' AND NEW.state <> 'open')
    EXECUTE FUNCTION bank_hold_moves_held();
"""

# pg_trigger_depth(): inside the triggers above it is 2 here, for a plain UPDATE it is 1.
SEALED = """
CREATE FUNCTION bank_account_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF coalesce(NEW.balance, 0) <> 0 OR coalesce(NEW.held, 0) <> 0 THEN
            RAISE EXCEPTION 'an account opens empty: post to it'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_account_sealed';
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.number, NEW.kind, NEW.currency) IS DISTINCT FROM (OLD.number, OLD.kind, OLD.currency)
        OR ((NEW.balance, NEW.held) IS DISTINCT FROM (OLD.balance, OLD.held)
            AND pg_trigger_depth() < 2)
    THEN
        RAISE EXCEPTION 'number, kind and currency stay; balance and held follow entries and holds'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_account_sealed';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bank_account_sealed BEFORE INSERT OR UPDATE ON bank_account
    FOR EACH ROW EXECUTE FUNCTION bank_account_sealed();

CREATE FUNCTION bank_hold_closes_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'open' OR (NEW.account_id, NEW.transfer_id, NEW.amount, NEW.placed_at)
        IS DISTINCT FROM (OLD.account_id, OLD.transfer_id, OLD.amount, OLD.placed_at)
    THEN
        RAISE EXCEPTION 'a hold changes once: it is captured or released'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_hold_closes_once';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bank_hold_closes_once BEFORE UPDATE ON bank_hold
    FOR EACH ROW EXECUTE FUNCTION bank_hold_closes_once();

CREATE FUNCTION bank_transfer_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.id, NEW.reference, NEW.user_id, NEW.idempotency_key, NEW.request_hash,
        NEW.from_account_id, NEW.to_account, NEW.to_bank, NEW.amount, NEW.currency, NEW.narration,
        NEW.created_at)
        IS DISTINCT FROM
       (OLD.id, OLD.reference, OLD.user_id, OLD.idempotency_key, OLD.request_hash,
        OLD.from_account_id, OLD.to_account, OLD.to_bank, OLD.amount, OLD.currency, OLD.narration,
        OLD.created_at)
        OR (NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN (
            ('pending', 'fulfilled'), ('pending', 'failed'), ('pending', 'cancelled'),
            ('fulfilled', 'reversed'), ('failed', 'fulfilled')))
    THEN
        RAISE EXCEPTION 'a transfer keeps what was ordered; % -> % is no way', OLD.state, NEW.state
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_transfer_moves';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bank_transfer_moves BEFORE UPDATE ON bank_transfer
    FOR EACH ROW EXECUTE FUNCTION bank_transfer_moves();
"""

UNDO = """
DROP FUNCTION bank_posting_balanced, bank_append_only, bank_entry_moves_balance,
    bank_hold_moves_held, bank_account_sealed, bank_hold_closes_once, bank_transfer_moves CASCADE;
ALTER TABLE bank_entry DROP CONSTRAINT bank_entry_currency_of_account;
"""


class Migration(migrations.Migration):
    dependencies = [("bank", "0001_initial")]

    operations = [
        migrations.RunSQL(ZERO_SUM + APPEND_ONLY + MATERIALISED + SEALED, reverse_sql=UNDO),
    ]
