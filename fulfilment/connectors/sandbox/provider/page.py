"""The books as a page for people. Plain HTML, no script, nothing loaded from elsewhere."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from fulfilment.connectors.sandbox.provider.answers import Answer

_CALLS_SHOWN = 100

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sandbox provider: books</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; }}
div {{ overflow-x: auto; }}
th, td {{ border-bottom: 1px solid #8888; padding: .3rem .8rem .3rem 0; text-align: left; }}
.n {{ font-variant-numeric: tabular-nums; text-align: right; }}
</style>
</head>
<body>
<h1>Sandbox provider: books</h1>
<p>What this provider really paid, whatever it answered. Amounts are in minor units, times in UTC.
The same <a href="/books?format=json">as JSON</a>.</p>
<h2>Totals</h2>
<p>{totals}</p>
<h2>Payments</h2>
{payments}
<h2>Faults in force</h2>
{faults}
<p>Set one with <code>curl -d '{{"fault":"hang","seconds":5,"times":1}}' {url}/faults</code>,
end all with <code>curl -X DELETE {url}/faults</code>.</p>
<h2>Calls, newest first</h2>
{calls}
</body>
</html>
"""


def books(statement: Mapping[str, Any], *, faults: list[dict[str, Any]], url: str) -> Answer:
    """The page; everything that came from outside is escaped."""
    text = _PAGE.format(
        totals=_totals(statement),
        payments=_payments(statement["payments"]),
        faults=_faults(faults),
        calls=_calls(statement["calls"]),
        url=escape(url),
    )
    return Answer(
        status=200,
        # a narration may hold half a surrogate pair, which UTF-8 cannot say
        body=text.encode("utf-8", errors="xmlcharrefreplace"),
        content_type="text/html; charset=utf-8",
        headers=(("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),),
    )


def _totals(statement: Mapping[str, Any]) -> str:
    sums = [f"{currency} {amount:,}" for currency, amount in statement["totals"].items()]
    return escape(
        f"{statement['count']} paid: {', '.join(sums)}" if sums else "Nothing was paid yet."
    )


def _payments(payments: list[dict[str, Any]]) -> str:
    head = ("Booked", "Reference", "Status", "Amount", "", "Bank", "Account", "Narration", "Calls")
    return _table(head, (_payment(payment) for payment in reversed(payments)))


def _payment(payment: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        _time(payment["created_at"]),
        payment["reference"],
        payment["status"],
        payment["amount"],
        payment["currency"],
        payment["recipient"]["bank"],
        payment["recipient"]["account"],
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
