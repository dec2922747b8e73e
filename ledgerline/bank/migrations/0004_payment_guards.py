"""A payment keeps what was asked for, and moves only the ways it has."""

from django.db import migrations

GUARDS = """
CREATE FUNCTION bank_payment_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.id, NEW.reference, NEW.user_id, NEW.request_hash, NEW.amount, NEW.currency, NEW.phone,
        NEW.narration, NEW.checkout_id, NEW.checkout_url, NEW.created_at)
        IS DISTINCT FROM
       (OLD.id, OLD.reference, OLD.user_id, OLD.request_hash, OLD.amount, OLD.currency, OLD.phone,
        OLD.narration, OLD.checkout_id, OLD.checkout_url, OLD.created_at)
        OR (NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN (
            ('open', 'paid'), ('paid', 'fulfilled'), ('paid', 'refund_due'),
            ('fulfilled', 'refund_due')))
    THEN
        RAISE EXCEPTION 'a payment keeps what was asked for; % -> % is no way', OLD.state, NEW.state
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_payment_moves';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bank_payment_moves BEFORE UPDATE ON bank_payment
    FOR EACH ROW EXECUTE FUNCTION bank_payment_moves();

CREATE FUNCTION bank_payment_begins_open() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> 'open' THEN
        RAISE EXCEPTION 'a payment begins open, not %', NEW.state
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_payment_begins_open';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bank_payment_begins_open BEFORE INSERT ON bank_payment
    FOR EACH ROW EXECUTE FUNCTION bank_payment_begins_open();

CREATE TRIGGER bank_payment_kept BEFORE DELETE OR TRUNCATE ON bank_payment
    FOR EACH STATEMENT EXECUTE FUNCTION bank_append_only();
"""

UNDO = """
DROP TRIGGER bank_payment_kept ON bank_payment;
DROP FUNCTION bank_payment_moves, bank_payment_begins_open CASCADE;
"""


class Migration(migrations.Migration):
    dependencies = [("bank", "0003_payments")]

    operations = [migrations.RunSQL(GUARDS, reverse_sql=UNDO)]
