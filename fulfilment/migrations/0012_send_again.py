"""Who may send a payment again under a new reference, and that none of its references was sent."""

from django.db import migrations

# A payment is cancelled as a whole: what went out under an earlier reference may still turn out to
# be paid, and then its customer would have the money twice.
CANCEL = """
CREATE OR REPLACE FUNCTION fulfilment_cancel_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM fulfilment_attempt AS a JOIN fulfilment AS f ON f.id = a.fulfilment_id
                WHERE f.payment_id = OLD.payment_id
                  AND (a.sent_at IS NOT NULL OR a.maybe_sent OR a.closed_at IS NULL)) THEN
        RAISE EXCEPTION 'fulfilment %: what may have been sent is never cancelled', OLD.reference
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_cancelled_never_sent';
    END IF;
    RETURN NEW;
END $$;
"""

UNDO = """
CREATE OR REPLACE FUNCTION fulfilment_cancel_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM fulfilment_attempt
                WHERE fulfilment_id = OLD.id
                  AND (sent_at IS NOT NULL OR maybe_sent OR closed_at IS NULL)) THEN
        RAISE EXCEPTION 'fulfilment %: what may have been sent is never cancelled', OLD.reference
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_cancelled_never_sent';
    END IF;
    RETURN NEW;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("fulfilment", "0011_records_kept")]

    operations = [
        migrations.AlterModelOptions(
            name="fulfilment",
            options={
                "permissions": [
                    ("resolve_fulfilled", "Can decide that an effect happened"),
                    ("resolve_failed", "Can decide that an effect did not happen"),
                    ("ask_provider", "Can ask the provider now"),
                    ("cancel_pending", "Can cancel what was never sent"),
                    ("correct_failed", "Can correct a verdict that turned out wrong"),
                    ("send_again", "Can send again, under a new reference, what did not happen"),
                ],
                "verbose_name": "payment",
                "verbose_name_plural": "payments in every state",
            },
        ),
        migrations.RunSQL(CANCEL, UNDO),
    ]
