"""What the guides say it with."""

from datetime import timedelta
from pathlib import Path

from django import template
from django.template.loader import get_template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def sample(name: str) -> SafeString:
    """A file of `guides/samples`, as it is: what is shown is what the tests run."""
    return format_html(
        '<figure><figcaption><code>{}</code></figcaption><pre tabindex="0"><code>{}</code></pre>'
        "</figure>",
        name,
        source(name),
    )


@register.simple_tag
def guide(name: str) -> str:
    """The address of another guide."""
    return reverse("guides:guide", args=[name])


@register.simple_tag
def problem(code: str) -> SafeString:
    """The code of a problem, linked to the page that explains it."""
    return format_html(
        '<a href="{}"><code>{}</code></a>', reverse("idempotency:problem", args=[code]), code
    )


@register.filter
def length_of(value: timedelta | None) -> str:
    """A duration in the largest unit that it has a whole number of."""
    if value is None:
        return "yours to set"
    for unit, one in _UNITS:
        if value >= 2 * one and value % one == timedelta(0):
            return f"{value // one} {unit}"
    return f"{value.total_seconds():g} s"


_UNITS = (("days", timedelta(days=1)), ("h", timedelta(hours=1)), ("min", timedelta(minutes=1)))


def source(name: str) -> str:
    """The text of a sample."""
    folder = Path(get_template("guides/index.html").origin.name).parent  # type: ignore[attr-defined]
    return (folder / f"samples/{name}").read_text()
