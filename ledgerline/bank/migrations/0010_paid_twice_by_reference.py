"""Each reference of a payment that was paid on top is posted once, instead of one for them all."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("bank", "0009_airtime_payment_name"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="posting",
            name="bank_posting_one_per_transfer_and_kind",
        ),
        migrations.AddField(
            model_name="posting",
            name="reference",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="of what was paid twice: under which of the payment's references",
                max_length=32,
            ),
        ),
        migrations.AddConstraint(
            model_name="posting",
            constraint=models.UniqueConstraint(
                condition=models.Q(("transfer__isnull", False)),
                fields=("transfer", "kind", "reference"),
                name="bank_posting_one_per_transfer_and_kind",
            ),
        ),
        migrations.AddConstraint(
            model_name="posting",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind", "paid_twice"), ("reference", ""), _connector="OR"),
                name="bank_posting_reference_of_paid_twice",
            ),
        ),
    ]
