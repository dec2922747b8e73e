-- psql -v ON_ERROR_STOP=1 -v customer=<the user's id> -f erase.sql
BEGIN;
SELECT set_config('erase.customer', :'customer', true);

-- Nothing of it may be open: what is not decided yet needs its rows.
DO $$
DECLARE
    customer uuid := current_setting('erase.customer');
BEGIN
    IF NOT EXISTS (SELECT FROM bank_user WHERE id = customer AND frozen_at IS NOT NULL) THEN
        RAISE EXCEPTION 'there is no frozen customer %: freeze first, so that nothing begins', customer;
    END IF;
    IF EXISTS (SELECT FROM bank_transfer WHERE user_id = customer AND state = 'pending')
        OR EXISTS (SELECT FROM bank_payment WHERE user_id = customer AND state = 'paid')
        OR EXISTS (SELECT FROM idempotency_keys WHERE user_id = customer AND completed_at IS NULL)
        OR EXISTS (SELECT FROM bank_account WHERE owner_id = customer AND balance <> 0)
    THEN
        RAISE EXCEPTION 'customer % has something open, or money: end that first', customer;
    END IF;
END $$;

-- Who it was. The id stays: the books point to it.
UPDATE bank_user
   SET username = 'erased-' || id, first_name = '', last_name = '', email = '', password = '!',
       is_active = false
 WHERE id = :'customer';

UPDATE django_admin_log SET object_repr = 'erased' WHERE object_id = :'customer'::uuid::text;

-- Stored answers. A late retry is answered from the transfer or the payment.
DELETE FROM idempotency_keys WHERE user_id = :'customer';

-- What providers said, word for word. Digests, verdicts and their grounds stay.
CREATE TEMPORARY TABLE erased ON COMMIT DROP AS
SELECT f.id FROM fulfilment f
 WHERE f.payment_id IN (
       SELECT 'transfer:' || reference FROM bank_transfer WHERE user_id = :'customer'
        UNION ALL
       SELECT 'payment:' || reference FROM bank_payment WHERE user_id = :'customer');
DELETE FROM fulfilment_payload
 WHERE evidence_id IN (SELECT id FROM fulfilment_evidence
                        WHERE fulfilment_id IN (SELECT id FROM erased));
DELETE FROM provider_event_payload
 WHERE event_id IN (SELECT id FROM provider_event
                     WHERE fulfilment_id IN (SELECT id FROM erased)
                       AND status NOT IN ('received', 'parked'));
UPDATE provider_event_conflict SET body = NULL
 WHERE event_id IN (SELECT id FROM provider_event
                     WHERE fulfilment_id IN (SELECT id FROM erased));
COMMIT;
