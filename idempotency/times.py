"""Moments for people: each with its zone and its age, as of the moment the page was made."""

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


def when(moment: datetime | None, *, now: datetime, missing: str = "never") -> SafeString:
    """`30 Nov 2026, 11:02:07 UTC (3 minutes ago)`; without the date when that is today."""
    if moment is None:
        return format_html("{}", missing)
    return format_html(
        '<time datetime="{}">{}</time> <span class="age">({})</span>',
        moment.isoformat(timespec="seconds"),
        clock(moment, now=now),
        relative(moment, now=now),
    )


def clock(moment: datetime, *, now: datetime) -> str:
    """`11:02:07 UTC`, with the date in front unless it is today's."""
    local, today = timezone.localtime(moment), timezone.localtime(now)
    date = "" if local.date() == today.date() else f"{local.day} {local:%b %Y}, "
    return f"{date}{local:%H:%M:%S %Z}"


def relative(moment: datetime, *, now: datetime) -> str:
    """`3 minutes ago`, `in 20 seconds`, `just now`."""
    distance = now - moment
    if abs(distance) < timedelta(seconds=1):
        return "just now"
    return f"{span(distance)} ago" if distance > timedelta(0) else f"in {span(-distance)}"


def span(length: timedelta) -> str:
    """The two largest units that matter: `2 days 3 hours`, `4 minutes`, `9 seconds`."""
    seconds = max(int(length.total_seconds()), 0)
    parts: list[str] = []
    for name, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {name}{'' if count == 1 else 's'}")
        if parts and (name in ("minute", "second") or len(parts) == 2):
            break
    return " ".join(parts) or "0 seconds"
