"""A person may set an event aside that fits nothing; a replay takes it back."""

from django.db import migrations, models

GUARD = """
CREATE OR REPLACE FUNCTION provider_event_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'event %: events are never deleted, or they would be taken again', OLD.dedupe_key
            USING ERRCODE = 'check_violation', CONSTRAINT = 'provider_event_never_deleted';
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW.status NOT IN ('received', 'ignored') OR NEW.evidence_id IS NOT NULL THEN
            RAISE EXCEPTION 'event %: begins as received or ignored, not as %', NEW.dedupe_key, NEW.status
                USING ERRCODE = 'check_violation', CONSTRAINT = 'provider_event_begins_unapplied';
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.id, NEW.provider, NEW.account, NEW.livemode, NEW.dedupe_key, NEW.type, NEW.digest,
        NEW.reference, NEW.received_at)
        IS DISTINCT FROM
       (OLD.id, OLD.provider, OLD.account, OLD.livemode, OLD.dedupe_key, OLD.type, OLD.digest,
        OLD.reference, OLD.received_at)
       OR (OLD.evidence_id IS NOT NULL AND NEW.evidence_id IS DISTINCT FROM OLD.evidence_id)
       OR (OLD.fulfilment_id IS NOT NULL AND NEW.fulfilment_id IS DISTINCT FROM OLD.fulfilment_id) THEN
        RAISE EXCEPTION 'event %: what is written of an event stays', OLD.dedupe_key
            USING ERRCODE = 'check_violation', CONSTRAINT = 'provider_event_written_once';
    END IF;
    IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (
        WAYS
    ) THEN
        RAISE EXCEPTION 'event %: there is no way from % to %', OLD.dedupe_key, OLD.status, NEW.status
            USING ERRCODE = 'check_violation', CONSTRAINT = 'provider_event_transition_known';
    END IF;
    RETURN NEW;
END $$;
"""

BEFORE = """
        ('received', 'parked'),
        ('received', 'applied'),
        ('received', 'dead'),
        ('parked', 'applied'),
        ('parked', 'dead'),
        ('dead', 'received'),
        ('ignored', 'received')
"""
AFTER = """
        ('received', 'set_aside'),
        ('parked', 'set_aside'),
        ('dead', 'set_aside'),
        ('set_aside', 'received')
"""


class Migration(migrations.Migration):
    dependencies = [
        ("fulfilment", "0008_event_actions"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="providerevent",
            name="provider_event_status_known",
        ),
        migrations.AlterField(
            model_name="providerevent",
            name="status",
            field=models.CharField(
                choices=[
                    ("received", "waits to be applied"),
                    ("parked", "waits for what it is about"),
                    ("applied", "applied"),
                    ("ignored", "of a type that is not used"),
                    ("dead", "given up: nothing here fits it"),
                    ("set_aside", "set aside by a person"),
                ],
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="providereventaction",
            name="before",
            field=models.CharField(
                choices=[
                    ("received", "waits to be applied"),
                    ("parked", "waits for what it is about"),
                    ("applied", "applied"),
                    ("ignored", "of a type that is not used"),
                    ("dead", "given up: nothing here fits it"),
                    ("set_aside", "set aside by a person"),
                ],
                help_text="how far it had come until then",
                max_length=16,
            ),
        ),
        migrations.AddConstraint(
            model_name="providerevent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "status__in",
                        ["applied", "dead", "ignored", "parked", "received", "set_aside"],
                    )
                ),
                name="provider_event_status_known",
            ),
        ),
        migrations.RunSQL(
            GUARD.replace("WAYS", f"{BEFORE.strip()},\n        {AFTER.strip()}"),
            GUARD.replace("WAYS", BEFORE.strip()),
        ),
    ]
