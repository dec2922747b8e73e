"""A transfer between accounts of ours in one round trip."""

from django.db import migrations

# The one way in which an on-us transfer is made: what `bank.on_us` calls. Refusals come back by their
# codes in `bank.errors`, the first that applies. Every statement in here sees what was committed
# before it began (VOLATILE, READ COMMITTED), as if the program had sent them one by one.
PAY_ON_US = """
CREATE FUNCTION bank_pay_on_us(
    p_id uuid, p_reference text, p_user uuid, p_key text, p_request_hash text,
    p_from text, p_to text, p_amount bigint, p_currency text, p_narration text,
    OUT refusal text, OUT field text,
    OUT from_id bigint, OUT from_number text, OUT made_at timestamptz
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    payer bank_account;
    payee bank_account;
    payer_owner_frozen boolean;
    payee_owner_frozen boolean;
    posting bigint;
BEGIN
    -- The key's row may be gone after its time; the transfer stays.
    IF EXISTS (SELECT FROM bank_transfer t WHERE t.reference = p_reference) THEN
        refusal := 'made_before';
        RETURN;
    END IF;

    -- Who pays whom. Number, kind and currency never change, so no lock is needed to know.
    SELECT * INTO payer FROM bank_account a
     WHERE a.owner_id = p_user AND a.kind = 'customer'
       AND CASE WHEN p_from IS NULL THEN a.currency = p_currency ELSE a.number = p_from END
     ORDER BY a.id LIMIT 1;
    SELECT * INTO payee FROM bank_account a WHERE a.number = p_to AND a.kind = 'customer';
    IF payer.id IS NULL THEN
        refusal := 'unknown_account';
    ELSIF payer.currency <> p_currency THEN
        refusal := 'currency_mismatch';
        field := 'fromAccount';
    ELSIF payee.id IS NULL THEN
        refusal := 'unknown_payee';
    ELSIF payee.currency <> p_currency THEN
        refusal := 'currency_mismatch';
        field := 'toAccount';
    ELSIF payee.id = payer.id THEN
        refusal := 'same_account';
    END IF;
    IF refusal IS NOT NULL THEN
        RETURN;
    END IF;

    -- Always in the order of their ids: A to B and B to A at once would wait for each other.
    PERFORM FROM bank_account a WHERE a.id IN (payer.id, payee.id)
      ORDER BY a.id FOR NO KEY UPDATE;

    -- Read after the lock: a freeze or a payment that was committed while we waited counts.
    SELECT * INTO payer FROM bank_account a WHERE a.id = payer.id;
    SELECT * INTO payee FROM bank_account a WHERE a.id = payee.id;
    SELECT u.frozen_at IS NOT NULL INTO payer_owner_frozen
      FROM bank_user u WHERE u.id = payer.owner_id;
    SELECT u.frozen_at IS NOT NULL INTO payee_owner_frozen
      FROM bank_user u WHERE u.id = payee.owner_id;
    IF payer.frozen_at IS NOT NULL THEN
        refusal := 'account_frozen';
        field := 'fromAccount';
    ELSIF payer_owner_frozen THEN
        refusal := 'user_frozen';
    ELSIF payer.balance - payer.held < p_amount THEN
        refusal := 'insufficient_balance';
    ELSIF payee.frozen_at IS NOT NULL OR payee_owner_frozen THEN
        refusal := 'account_frozen';  -- why is nobody else's business
        field := 'toAccount';
    END IF;
    IF refusal IS NOT NULL THEN
        RETURN;
    END IF;

    made_at := clock_timestamp();
    INSERT INTO bank_transfer (id, reference, user_id, idempotency_key, request_hash,
           from_account_id, to_account, to_bank, amount, currency, narration,
           state, created_at, decided_at)
    VALUES (p_id, p_reference, p_user, p_key, p_request_hash,
           payer.id, p_to, '', p_amount, p_currency, p_narration,
           'fulfilled', made_at, made_at);
    INSERT INTO bank_posting (kind, transfer_id, description, posted_at)
    VALUES ('transfer', p_id, '', made_at) RETURNING id INTO posting;
    INSERT INTO bank_entry (posting_id, account_id, amount, currency)
    VALUES (posting, payer.id, -p_amount, p_currency), (posting, payee.id, p_amount, p_currency);
    from_id := payer.id;
    from_number := payer.number;
END $$;

COMMENT ON FUNCTION bank_pay_on_us IS
    'Makes one on-us transfer with its posting, in the caller''s transaction, or says why not.';
"""


class Migration(migrations.Migration):
    dependencies = [("bank", "0007_freezes")]

    operations = [
        migrations.RunSQL(PAY_ON_US, reverse_sql="DROP FUNCTION bank_pay_on_us"),
    ]
