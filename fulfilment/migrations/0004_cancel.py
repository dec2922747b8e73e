"""Who may cancel, and that nothing is cancelled of which anything may have left."""

from django.db import migrations

# What was sent may be paid. Written out in the database as well, because a cancelled payment frees
# its place and gives the money back.
CANCEL = """
CREATE FUNCTION fulfilment_cancel_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM fulfilment_attempt
                WHERE fulfilment_id = OLD.id
                  AND (sent_at IS NOT NULL OR maybe_sent OR closed_at IS NULL)) THEN
        RAISE EXCEPTION 'fulfilment %: what may have been sent is never cancelled', OLD.reference
            USING ERRCODE = 'check_violation', CONSTRAINT = 'fulfilment_cancelled_never_sent';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fulfilment_cancel_guard BEFORE UPDATE OF state ON fulfilment
    FOR EACH ROW WHEN (NEW.state = 'cancelled' AND OLD.state <> 'cancelled')
    EXECUTE FUNCTION fulfilment_cancel_guard();
"""

UNDO = """
DROP TRIGGER fulfilment_cancel_guard ON fulfilment;
DROP FUNCTION fulfilment_cancel_guard();
"""


class Migration(migrations.Migration):
    dependencies = [("fulfilment", "0003_provider_events")]

    operations = [
        migrations.AlterModelOptions(
            name="fulfilment",
            options={
                "permissions": [
                    ("resolve_fulfilled", "Can decide that an effect happened"),
                    ("resolve_failed", "Can decide that an effect did not happen"),
                    ("ask_provider", "Can ask the provider now"),
                    ("cancel_pending", "Can cancel what was never sent"),
                ]
            },
        ),
        migrations.RunSQL(CANCEL, UNDO),
    ]
