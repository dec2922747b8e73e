"""The columns of the queue and of the list of all fulfilments, one function each."""

from datetime import datetime

from django.contrib import admin
from django.db.models import Prefetch, QuerySet
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment.admin import words
from fulfilment.admin.dossier import PROVIDER_SOURCES
from fulfilment.admin.filters import bucket_of
from fulfilment.admin.money import money
from fulfilment.admin.summary import overdue_before
from fulfilment.models import Case, CaseAction, Evidence, Fulfilment, Source
from fulfilment.reconcile import casebook
from idempotency.times import span, when


def with_history(rows: QuerySet[Fulfilment]) -> QuerySet[Fulfilment]:
    """The newest word, the newest look-up, the open case and its proposal, in four statements."""
    newest = Evidence.objects.order_by("-id")
    return rows.prefetch_related(
        Prefetch("evidence", newest.filter(source__in=PROVIDER_SOURCES)[:1], to_attr="newest_word"),
        Prefetch("evidence", newest.filter(source=Source.LOOKUP)[:1], to_attr="newest_lookup"),
        Prefetch(
            "cases",
            Case.objects.filter(closed_at__isnull=True)
            .select_related("owner")
            .prefetch_related(
                Prefetch("actions", casebook.about_proposals()[:1], to_attr="newest_proposal")
            ),
            to_attr="open_cases",
        ),
    )


@admin.display(description="what", ordering="kind")
def what(row: Fulfilment) -> SafeString:
    """The kind and the masked payee."""
    payee = words.payee(row.instruction)
    to = format_html("<br>to\u00a0{}", payee) if payee else ""
    return format_html("<b>{}</b>{}", row.kind.replace("_", " ").capitalize(), to)


@admin.display(description="amount", ordering="amount")
def amount(row: Fulfilment) -> SafeString:
    """Major units with the currency."""
    return format_html('<span class="sum">{}</span>', money(row.amount, row.currency))


@admin.display(description="age", ordering="created_at")
def age(row: Fulfilment) -> SafeString:
    """How long somebody has been waiting, and its bucket."""
    length = timezone.now() - row.created_at
    return format_html('{}<br><span class="age">{}</span>', span(length), bucket_of(length).label)


@admin.display(description="why")
def why(row: Fulfilment) -> str:
    """The reason in words."""
    return words.hide(words.reason(row.reason), words.number_of(row.instruction))


@admin.display(description="provider last said")
def last_word(row: Fulfilment) -> SafeString:
    """The provider's newest answer, or that there is none."""
    provider = words.provider(row.connector)
    found: list[Evidence] = getattr(row, "newest_word", [])
    if not found:
        return format_html("{} said nothing yet", provider)
    return format_html(
        "{} {}<br>{}",
        provider,
        words.says(found[0].finding),
        when(found[0].recorded_at, now=timezone.now()),
    )


@admin.display(description="automatic checks", ordering="next_check_at")
def checks(row: Fulfilment) -> SafeString:
    """Last and next; a check that should long have run says so."""
    now = timezone.now()
    found: list[Evidence] = getattr(row, "newest_lookup", [])
    last = found[0].recorded_at if found else None
    return format_html("last: {}<br>{}", when(last, now=now), _next(row.next_check_at, now=now))


def _next(due: datetime | None, *, now: datetime) -> SafeString:
    if due is None:
        return format_html("next: {}", "none, it is decided")
    if due < overdue_before(now):
        return format_html('<strong class="alarm">overdue:</strong> {}', when(due, now=now))
    return format_html("next: {}", when(due, now=now))


@admin.display(description="case")
def case(row: Fulfilment) -> SafeString:
    """Whether a person is asked, why, and since when."""
    found: list[Case] = getattr(row, "open_cases", [])
    if not found:
        return format_html('none<br><span class="age">{}</span>', "checked automatically")
    return format_html(
        "{}<br>{}{}",
        found[0].get_reason_display(),
        when(found[0].opened_at, now=timezone.now()),
        _proposal(found[0]),
    )


def _proposal(case: Case) -> SafeString:
    newest = next(iter(getattr(case, "newest_proposal", [])), None)
    if newest is None or newest.action != CaseAction.Action.PROPOSED:
        return SafeString()
    return format_html(
        '<br><strong class="second">{} proposed “{}”: needs a second person</strong>',
        words.who(newest.actor),
        words.verdict(newest.verdict),
    )


@admin.display(description="owner")
def owner(row: Fulfilment) -> str:
    """Who works on it."""
    found: list[Case] = getattr(row, "open_cases", [])
    return found[0].owner.get_username() if found and found[0].owner else "nobody"


@admin.display(description="reference")
def reference(row: Fulfilment) -> SafeString:
    """Our name for it at the provider."""
    return format_html("<code>{}</code>", row.reference)


@admin.display(description="state", ordering="state")
def state(row: Fulfilment) -> SafeString:
    """The state in a word, its colour repeating it."""
    badge = words.badge(row.state)
    return format_html('<span class="badge {}">{}</span>', badge.tone, badge.text)
