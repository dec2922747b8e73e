"""What is sent, in which order: everything that the judges will want to have seen."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from idempotency.audit.courier import Courier
from idempotency.audit.evidence import Evidence
from idempotency.audit.messages import Exchange, Request
from idempotency.audit.order import Order
from idempotency.audit.steps import AT_ONCE, RETRIES

_LONG = 4000  # bytes: longer than any index row allows, and short enough for every server's headers
_LONGEST_PAUSE = 5.0  # seconds, whatever Retry-After says: an audit is no client


@dataclass(slots=True)
class _Record:
    courier: Courier
    exchanges: dict[str, tuple[Exchange, ...]] = field(default_factory=dict)
    not_taken: dict[str, str] = field(default_factory=dict)

    def send(self, step: str, request: Request) -> Exchange:
        exchange = self.courier.send(step, request)
        self.add(step, [exchange])
        return exchange

    def add(self, step: str, exchanges: Sequence[Exchange]) -> None:
        self.exchanges[step] = (*self.exchanges.get(step, ()), *exchanges)


def hold(order: Order, *, courier: Courier) -> Evidence:
    """Send everything, one step after the other, and return what came back.

    Where the very first request is not accepted, nothing else is sent: it could show nothing.
    """
    record = _Record(courier)
    key = _new_key()
    first = record.send("first", order.keyed(key))
    if first.answer is not None and first.answer.succeeded:
        _repeat(record, order, key)
        _misuse(record, order)
        _crowd(record, order)
        _strangers(record, order, key)
        _refusals(record, order)
    return Evidence(record.exchanges, order.marker, record.not_taken)


def _repeat(record: _Record, order: Order, key: bytes) -> None:
    """The same key again, in every form that must name the same request, and in some that must not."""
    record.send("replay", order.keyed(key))
    _until_final(record, "replay", order.keyed(key))
    record.send("other body", order.different(key))
    record.send("replay again", order.keyed(key))
    record.send("quoted", order.keyed(b'"' + key + b'"'))
    reordered = order.reordered(key)
    if reordered is None:
        record.not_taken["other order"] = "the body is no JSON object with two members"
    else:
        record.send("other order", reordered)
    record.send("chunked", replace(order.keyed(key), chunked=True))
    record.send("chunked other body", replace(order.different(key), chunked=True))
    record.send("look", order.looked_at(key))


def _misuse(record: _Record, order: Order) -> None:
    """Keys that are none."""
    record.send("no key", order.keyed())
    long = _new_key() * (_LONG // 36)
    taken = record.send("long key", order.keyed(long + b"a"))
    if taken.answer is not None and taken.answer.succeeded:
        record.send("long key", order.keyed(long + b"b"))  # is it cut, so that two keys become one?
    record.send("control character", order.keyed(_new_key() + b"\x01"))
    record.send("not ASCII", order.keyed(_new_key() + "\u2713".encode()))
    record.send("two keys", order.keyed(_new_key(), _new_key()))


def _crowd(record: _Record, order: Order) -> None:
    """One key, many at once; then the client that was told to come back comes back."""
    request = order.keyed(_new_key())
    record.add("at once", record.courier.send_at_once("at once", [request] * AT_ONCE))
    record.send("after", request)
    _until_final(record, "after", request, already=1)


def _strangers(record: _Record, order: Order, key: bytes) -> None:
    request = order.by_somebody_else(key)
    if request is None:
        record.not_taken["somebody else"] = "give a second user's credentials with --other-header"
    else:
        record.send("somebody else", request)


def _refusals(record: _Record, order: Order) -> None:
    request = order.refused(_new_key())
    if request is None:
        record.not_taken["refused"] = "give a body that is refused with --bad-body"
        return
    record.send("refused", request)
    record.send("refused", request)


def _until_final(record: _Record, step: str, request: Request, *, already: int = 0) -> None:
    """Ask again while the endpoint says that the first request is still running."""
    for _ in range(RETRIES - already):
        last = record.exchanges[step][-1].answer
        if last is None or last.status not in (409, 425):
            return
        record.courier.pause(_wish(last.header("Retry-After")))
        record.send(step, request)


def _wish(retry_after: str | None) -> float:
    try:
        return min(_LONGEST_PAUSE, max(0.1, float(retry_after or 1)))
    except ValueError:  # a date
        return 1.0


def _new_key() -> bytes:
    return str(uuid.uuid4()).encode()
