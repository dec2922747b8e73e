"""The tables of the inbox, and their rules, held by the database."""

import django.db.models.deletion
from django.db import migrations, models

# What came is a record: an event keeps its name and content for ever, moves on only, and learns
# once what it was about. The ways back (from dead and ignored) are for a replay.
EVENT = """
CREATE FUNCTION provider_event_guard() RETURNS trigger LANGUAGE plpgsql AS $$
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
        ('received', 'parked'),
        ('received', 'applied'),
        ('received', 'dead'),
        ('parked', 'applied'),
        ('parked', 'dead'),
        ('dead', 'received'),
        ('ignored', 'received')
    ) THEN
        RAISE EXCEPTION 'event %: there is no way from % to %', OLD.dedupe_key, OLD.status, NEW.status
            USING ERRCODE = 'check_violation', CONSTRAINT = 'provider_event_transition_known';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER provider_event_guard BEFORE INSERT OR UPDATE OR DELETE ON provider_event
    FOR EACH ROW EXECUTE FUNCTION provider_event_guard();
"""

# Retention may delete a payload that is needed no more, and empty a conflict's body; nobody may
# change one.
RECORDS = """
CREATE FUNCTION provider_event_payload_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM provider_event
                WHERE id = OLD.event_id AND status IN ('received', 'parked')) THEN
        RAISE EXCEPTION 'event %: waits to be applied, and its body is all that it has', OLD.event_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'provider_event_payload_needed';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER provider_event_payload_needed BEFORE DELETE ON provider_event_payload
    FOR EACH ROW EXECUTE FUNCTION provider_event_payload_guard();
CREATE TRIGGER provider_event_payload_unchanged BEFORE UPDATE ON provider_event_payload
    FOR EACH ROW EXECUTE FUNCTION fulfilment_append_only();

CREATE FUNCTION provider_event_conflict_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.id, NEW.event_id, NEW.digest, NEW.received_at)
        IS DISTINCT FROM (OLD.id, OLD.event_id, OLD.digest, OLD.received_at)
       OR (NEW.body IS NOT NULL AND NEW.body IS DISTINCT FROM OLD.body)
       OR (OLD.raised_at IS NOT NULL AND NEW.raised_at IS DISTINCT FROM OLD.raised_at) THEN
        RAISE EXCEPTION 'conflict %: what is written of a conflict stays', OLD.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'provider_event_conflict_written_once';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER provider_event_conflict_written_once BEFORE UPDATE ON provider_event_conflict
    FOR EACH ROW EXECUTE FUNCTION provider_event_conflict_guard();
CREATE TRIGGER provider_event_conflict_never_deleted BEFORE DELETE ON provider_event_conflict
    FOR EACH ROW EXECUTE FUNCTION fulfilment_append_only();
"""

UNDO = """
DROP TRIGGER provider_event_conflict_never_deleted ON provider_event_conflict;
DROP TRIGGER provider_event_conflict_written_once ON provider_event_conflict;
DROP TRIGGER provider_event_payload_unchanged ON provider_event_payload;
DROP TRIGGER provider_event_payload_needed ON provider_event_payload;
DROP TRIGGER provider_event_guard ON provider_event;
DROP FUNCTION provider_event_conflict_guard();
DROP FUNCTION provider_event_payload_guard();
DROP FUNCTION provider_event_guard();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("fulfilment", "0002_guards"),
    ]

    operations = [
        migrations.CreateModel(
            name="ProviderEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("provider", models.CharField(max_length=32)),
                ("account", models.CharField(blank=True, max_length=64)),
                ("livemode", models.BooleanField()),
                ("dedupe_key", models.CharField(max_length=255)),
                ("type", models.CharField(max_length=128)),
                (
                    "digest",
                    models.CharField(
                        help_text="SHA-256 of what must be the same in every delivery",
                        max_length=64,
                    ),
                ),
                (
                    "reference",
                    models.CharField(blank=True, help_text="what it is about", max_length=64),
                ),
                ("received_at", models.DateTimeField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("received", "waits to be applied"),
                            ("parked", "waits for what it is about"),
                            ("applied", "applied"),
                            ("ignored", "of a type that is not used"),
                            ("dead", "given up: nothing here fits it"),
                        ],
                        max_length=16,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=255)),
                (
                    "checks",
                    models.PositiveIntegerField(default=0, help_text="times that it was tried"),
                ),
                ("next_check_at", models.DateTimeField(null=True)),
                ("applied_at", models.DateTimeField(null=True)),
                (
                    "evidence",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="event",
                        to="fulfilment.evidence",
                    ),
                ),
                (
                    "fulfilment",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="events",
                        to="fulfilment.fulfilment",
                    ),
                ),
            ],
            options={
                "db_table": "provider_event",
            },
        ),
        migrations.CreateModel(
            name="ProviderEventPayload",
            fields=[
                (
                    "event",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="payload",
                        serialize=False,
                        to="fulfilment.providerevent",
                    ),
                ),
                ("body", models.BinaryField()),
            ],
            options={
                "db_table": "provider_event_payload",
            },
        ),
        migrations.CreateModel(
            name="ProviderEventConflict",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64)),
                (
                    "body",
                    models.BinaryField(
                        help_text="retention may empty it; the digest stays", null=True
                    ),
                ),
                ("received_at", models.DateTimeField()),
                (
                    "raised_at",
                    models.DateTimeField(
                        help_text="when its case was opened or told of it", null=True
                    ),
                ),
                (
                    "event",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="conflicts",
                        to="fulfilment.providerevent",
                    ),
                ),
            ],
            options={
                "db_table": "provider_event_conflict",
            },
        ),
        migrations.AddIndex(
            model_name="providerevent",
            index=models.Index(
                condition=models.Q(("status__in", ["parked", "received"])),
                fields=["next_check_at"],
                name="provider_event_due",
            ),
        ),
        migrations.AddConstraint(
            model_name="providerevent",
            constraint=models.UniqueConstraint(
                fields=("provider", "account", "livemode", "dedupe_key"), name="provider_event_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="providerevent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("status__in", ["applied", "dead", "ignored", "parked", "received"])
                ),
                name="provider_event_status_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="providerevent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("next_check_at__isnull", False), ("status__in", ["parked", "received"])
                    ),
                    models.Q(
                        models.Q(("status__in", ["parked", "received"]), _negated=True),
                        ("next_check_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="provider_event_waiting_has_next_check",
            ),
        ),
        migrations.AddConstraint(
            model_name="providerevent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("applied_at__isnull", False), ("status", "applied")),
                    models.Q(
                        models.Q(("status", "applied"), _negated=True), ("applied_at__isnull", True)
                    ),
                    _connector="OR",
                ),
                name="provider_event_applied_with_time",
            ),
        ),
        migrations.AddIndex(
            model_name="providereventconflict",
            index=models.Index(
                condition=models.Q(("raised_at__isnull", True)),
                fields=["event"],
                name="provider_event_conflict_new",
            ),
        ),
        migrations.AddConstraint(
            model_name="providereventconflict",
            constraint=models.UniqueConstraint(
                fields=("event", "digest"), name="provider_event_conflict_once"
            ),
        ),
        migrations.RunSQL(EVENT + RECORDS, UNDO),
    ]
