"""The small phrases of which the sentences about one payment are made."""

from datetime import datetime

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from fulfilment.admin import words
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.money import money
from idempotency.times import when


def sum_of(dossier: Dossier) -> str:
    """What it is about, in major units."""
    return money(dossier.fulfilment.amount, dossier.fulfilment.currency)


def provider_of(dossier: Dossier) -> str:
    """The other side, as people call it."""
    return words.provider(dossier.fulfilment.connector)


def moment(at: datetime, dossier: Dossier) -> SafeString:
    """A time with its age as of the page."""
    return when(at, now=dossier.now)


def joined(*sentences: SafeString) -> SafeString:
    """The sentences that say something, one after another."""
    return format_html_join(" ", "{}", ((s,) for s in sentences if s))
