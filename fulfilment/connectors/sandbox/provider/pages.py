"""The pages for people. Plain HTML, no script, nothing loaded from elsewhere."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from fulfilment.connectors.sandbox.provider.answers import Answer
from fulfilment.connectors.sandbox.provider.payment import OPEN, Payment

_CALLS_SHOWN = 100

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sandbox provider: {title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; }}
div {{ overflow-x: auto; }}
th, td {{ border-bottom: 1px solid #8888; padding: .3rem .8rem .3rem 0; text-align: left; }}
.n {{ font-variant-numeric: tabular-nums; text-align: right; }}
button {{ font: inherit; padding: .4rem 1.2rem; }}
</style>
</head>
<body>
<h1>Sandbox provider: {title}</h1>
{body}
</body>
</html>
"""
_BOOKS = """<p>What this provider really did, whatever it answered. Amounts are in minor units, times in UTC.
The same <a href="/books?format=json">as JSON</a>; what it reports:
<a href="/events">events</a>, <a href="/deliveries">deliveries</a>.</p>
<h2>Totals</h2>
<p>{totals}</p>
<h2>Payments</h2>
{payments}
<h2>Faults in force</h2>
{faults}
<p>Set one with <code>curl -d '{{"fault":"hang","seconds":5,"times":1}}' {url}/faults</code>,
end all with <code>curl -X DELETE {url}/faults</code>.</p>
<h2>Calls, newest first</h2>
{calls}"""
_CHECKOUT = """<p>{amount:,} {currency} (in minor units) for <code>{reference}</code>.</p>
<p>{state}</p>"""
_BUTTON = """<form method="post" action="/checkouts/{id}/pay"><button>Pay</button></form>"""


def books(statement: Mapping[str, Any], *, faults: list[dict[str, Any]], url: str) -> Answer:
    """The books; everything that came from outside is escaped."""
    body = _BOOKS.format(
        totals=_totals(statement),
        payments=_payments(statement["payments"]),
        faults=_faults(faults),
        calls=_calls(statement["calls"]),
        url=escape(url),
    )
    return _page("books", body)


def checkout(booked: Payment) -> Answer:
    """The page at which a person pays, or reads that somebody did."""
    body = _CHECKOUT.format(
        amount=booked.amount,
        currency=escape(booked.currency),
        reference=escape(booked.reference),
        state=f"This checkout is {escape(booked.status)}.",
    )
    button = _BUTTON.format(id=escape(booked.id)) if booked.status == OPEN else ""
    return _page("checkout", body + button)


def _page(title: str, body: str) -> Answer:
    policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"
    return Answer(
        status=200,
        # a narration may hold half a surrogate pair, which UTF-8 cannot say
        body=_PAGE.format(title=title, body=body).encode("utf-8", errors="xmlcharrefreplace"),
        content_type="text/html; charset=utf-8",
        headers=(("Content-Security-Policy", policy),),
    )


def _totals(statement: Mapping[str, Any]) -> str:
    sums = [f"{currency} {amount:,}" for currency, amount in statement["totals"].items()]
    return escape(
        f"{statement['count']} paid: {', '.join(sums)}" if sums else "Nothing was paid yet."
    )


def _payments(payments: list[dict[str, Any]]) -> str:
    head = (
        "Booked", "Kind", "Reference", "Status", "Amount", "", "Recipient", "Narration", "Calls"
    )  # fmt: skip
    return _table(head, (_payment(payment) for payment in reversed(payments)))


def _payment(payment: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        _time(payment["created_at"]),
        payment["kind"],
        payment["reference"],
        payment["status"],
        payment["amount"],
        payment["currency"],
        " ".join(payment["recipient"].values()),
        payment["narration"],
        payment["calls"],
    )


def _faults(faults: list[dict[str, Any]]) -> str:
    rows = (
        (
            fault["fault"],
            f"{fault['seconds']:g}",
            "until deleted" if fault["times"] is None else fault["times"],
            ", ".join(f"{name} {text}" for name, text in fault["match"].items()) or "every payment",
        )
        for fault in faults
    )
    return _table(("Fault", "Seconds", "Times left", "Meets"), rows)


def _calls(calls: list[dict[str, Any]]) -> str:
    rows = (
        (
            _time(call["at"]),
            call["method"],
            call["path"],
            call["reference"],
            call["fault"],
            call["answer"],
        )
        for call in reversed(calls[-_CALLS_SHOWN:])
    )
    return _table(("At", "Method", "Path", "Reference", "Fault", "Answer"), rows)


def _table(head: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> str:
    body = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>\n" for row in rows)
    if not body:
        return "<p>None.</p>"
    titles = "".join(f'<th scope="col">{escape(title)}</th>' for title in head)
    return f"<div><table><thead><tr>{titles}</tr></thead><tbody>\n{body}</tbody></table></div>"


def _cell(value: Any) -> str:
    if isinstance(value, int):
        return f'<td class="n">{value:,}</td>'
    return f"<td>{escape(str(value))}</td>"


def _time(at: str) -> str:
    return at[:19].replace("T", " ")
