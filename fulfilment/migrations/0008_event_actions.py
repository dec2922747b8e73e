"""What people do to an event by hand is a record of its own."""

import django.db.models.deletion
from django.db import migrations, models

ACTIONS = """
CREATE TRIGGER provider_event_action_append_only BEFORE UPDATE OR DELETE ON provider_event_action
    FOR EACH ROW EXECUTE FUNCTION fulfilment_append_only();
CREATE TRIGGER provider_event_action_never_emptied BEFORE TRUNCATE ON provider_event_action
    FOR EACH STATEMENT EXECUTE FUNCTION fulfilment_append_only();
"""

UNDO = """
DROP TRIGGER provider_event_action_never_emptied ON provider_event_action;
DROP TRIGGER provider_event_action_append_only ON provider_event_action;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("fulfilment", "0007_pulse"),
    ]

    operations = [
        migrations.CreateModel(
            name="ProviderEventAction",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("replayed", "had it applied again"),
                            ("set_aside", "set it aside"),
                        ],
                        max_length=16,
                    ),
                ),
                ("actor", models.CharField(max_length=150)),
                (
                    "before",
                    models.CharField(
                        choices=[
                            ("received", "waits to be applied"),
                            ("parked", "waits for what it is about"),
                            ("applied", "applied"),
                            ("ignored", "of a type that is not used"),
                            ("dead", "given up: nothing here fits it"),
                        ],
                        help_text="how far it had come until then",
                        max_length=16,
                    ),
                ),
                ("note", models.CharField(blank=True, max_length=255)),
                ("acted_at", models.DateTimeField()),
            ],
            options={
                "db_table": "provider_event_action",
            },
        ),
        migrations.AlterModelOptions(
            name="providerevent",
            options={
                "permissions": [("replay_event", "Can apply an event again, or set it aside")],
                "verbose_name": "provider event",
            },
        ),
        migrations.AlterField(
            model_name="providerevent",
            name="checks",
            field=models.PositiveIntegerField(
                default=0,
                help_text="times that it was tried since it came or was last applied again",
            ),
        ),
        migrations.AddIndex(
            model_name="providerevent",
            index=models.Index(
                condition=models.Q(("status__in", ["dead", "parked", "received"])),
                fields=["received_at"],
                name="provider_event_open",
            ),
        ),
        migrations.AddField(
            model_name="providereventaction",
            name="event",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="actions",
                to="fulfilment.providerevent",
            ),
        ),
        migrations.AddConstraint(
            model_name="providereventaction",
            constraint=models.CheckConstraint(
                condition=models.Q(("action__in", ["replayed", "set_aside"])),
                name="provider_event_action_known",
            ),
        ),
        migrations.RunSQL(ACTIONS, UNDO),
    ]
