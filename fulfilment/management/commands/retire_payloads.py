"""`manage.py retire_payloads`: what the nightly task does, without a broker."""

from typing import Any

from django.core.management.base import BaseCommand

from fulfilment import retention


class Command(BaseCommand):
    """Once, to its end. May be killed, may run twice at once, may run again."""

    help = "Take away the bodies of what was decided longer than PAYLOADS_KEPT ago. Digests stay."

    def handle(self, *args: Any, **options: Any) -> None:
        gone = retention.retire()
        self.stdout.write(
            f"took away {gone.evidence} bodies of evidence, {gone.events} of events, "
            f"{gone.conflicts} of contradictions"
        )
