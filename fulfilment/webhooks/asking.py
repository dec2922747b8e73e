"""What an event whose body proves nothing leads to: a question to the provider, for all such events.

Whoever knows the literal secret of such a provider can send as many events as they like. So one
answer is for all of them that came before the question, one question about a payment is asked at a
time, and the next one not before a while.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from fulfilment import store
from fulfilment.conf import conf
from fulfilment.errors import NotAskedNow
from fulfilment.models import WAITING, EventStatus, Fulfilment, ProviderEvent, Source
from fulfilment.reconcile import lookups, resolve
from fulfilment.reconcile.evidence import Finding
from fulfilment.webhooks import routes


class NotNow(Exception):
    """The provider is asked later."""


def ask(event: ProviderEvent, row: Fulfilment) -> bool:
    """Ask about the row, judge what is said, and settle every event that this answers.

    False: this provider can never be asked. Raises `NotNow` where the event has to wait: for an
    answer that somebody is about to get, or until it may be asked again.
    """
    with store.alone(f"fulfilment.asking:{row.pk}") as mine:
        if not mine:
            raise NotNow("the provider is being asked about it just now")
        return _ask(event, row)


def _ask(event: ProviderEvent, row: Fulfilment) -> bool:
    at = store.now()
    if not _same(event, row, before=at).filter(pk=event.pk).exists():
        return True  # the answer before this one was for it, too
    if row.evidence.filter(
        source=Source.LOOKUP, recorded_at__gt=at - conf().park_schedule[0]
    ).exists():
        raise NotNow("the provider was asked about it a moment ago")
    try:
        answer = lookups.query(row, actor=f"provider:{event.provider}")
    except NotAskedNow as why:
        raise NotNow(str(why)) from None
    if answer is None:
        return False
    with transaction.atomic():
        answered = _same(event, row, before=at).select_for_update(no_key=True).order_by("pk")
        ids = list(answered.values_list("pk", flat=True))
        resolve.resolve(row.pk, news=[answer.pk])
        if answer.finding != Finding.NO_INFORMATION:
            _settle(ids, row)
            return True
    raise NotNow("the provider could not be asked")


def _same(event: ProviderEvent, row: Fulfilment, *, before: datetime) -> QuerySet[ProviderEvent]:
    """The waiting events that would ask the same question, and came before it was asked."""
    waiting = ProviderEvent.objects.filter(
        provider=event.provider,
        account=event.account,
        livemode=event.livemode,
        reference=row.reference,
        status__in=WAITING,
        received_at__lte=before,
    )
    return waiting.exclude(type__in=routes.types())  # those want to start something


def _settle(ids: list[int], row: Fulfilment) -> None:
    ProviderEvent.objects.filter(pk__in=ids).update(
        status=EventStatus.APPLIED,
        applied_at=store.now(),
        next_check_at=None,
        reason="",
        fulfilment=row,
    )
