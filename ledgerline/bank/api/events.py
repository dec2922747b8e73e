"""The body of POST /v1/usage-events, read strictly."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ledgerline.bank import usage
from ledgerline.bank.api.fields import Pattern, WholeNumber
from ledgerline.bank.api.orders import OWN_NUMBER, StrictFields
from ledgerline.bank.money import LARGEST

MOST_METADATA = 500  # bytes of one event: a batch of 1,000 stays below the megabyte of a request
# Clocks of meters are wrong by minutes; an event of tomorrow is a wrong unit or a wrong zone.
_AHEAD = timedelta(hours=1)
_FIRST_YEAR = 2000
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:[Zz]|[+-]\d\d:[0-5]\d)", re.ASCII
)


@extend_schema_field({"type": "string", "format": "date-time"})
class Moment(serializers.Field[datetime, str, str, Any]):
    """A moment with its zone (RFC 3339); read as UTC."""

    default_error_messages = {
        "moment": "Must be a time with its zone, such as 2026-11-30T09:15:00Z.",
        "ahead": "Lies in the future.",
        "early": f"Lies before the year {_FIRST_YEAR}.",
    }

    def to_internal_value(self, data: object) -> datetime:
        if not isinstance(data, str) or not _MOMENT.fullmatch(data):
            self.fail("moment")
        try:
            moment = datetime.fromisoformat(data.upper())
        except ValueError:  # the 30th of February
            self.fail("moment")
        if moment.year < _FIRST_YEAR:
            self.fail("early")
        if moment > timezone.now() + _AHEAD:
            self.fail("ahead")
        return moment.astimezone(UTC)

    def to_representation(self, value: datetime) -> str:
        return value.isoformat()


@extend_schema_field({"type": "object", "additionalProperties": {"type": "string"}})
class Metadata(serializers.Field[dict[str, str], object, object, Any]):
    """Names and texts of the client's own, small."""

    default_error_messages = {
        "flat": "Must be an object whose values are texts.",
        "size": f"Must not be larger than {MOST_METADATA} bytes.",
        "text": "Must not hold NUL or half a surrogate pair.",
    }

    def to_internal_value(self, data: object) -> dict[str, str]:
        if not isinstance(data, Mapping) or not all(
            isinstance(text, str) for text in data.values()
        ):
            self.fail("flat")
        texts = [*data, *data.values()]
        try:
            size = sum(len(text.encode()) for text in texts)
        except UnicodeEncodeError:
            self.fail("text")
        if any("\0" in text for text in texts):
            self.fail("text")
        if size > MOST_METADATA:
            self.fail("size")
        return dict(data)

    def to_representation(self, value: dict[str, str]) -> object:
        return value


class EventFields(StrictFields[usage.Event]):
    """What one event may say."""

    id = Pattern(r"[!-~]{1,128}", what="1 to 128 visible ASCII characters")
    type = Pattern(r"[a-z][a-z0-9_.]{0,63}", what="a name such as sms.sent")
    quantity = WholeNumber(least=0, most=LARGEST)
    occurredAt = Moment()  # noqa: N815  # the API's names
    account = Pattern(OWN_NUMBER, what="an account number of 10 digits", required=False)
    metadata = Metadata(required=False)


class BatchFields(StrictFields[list[usage.Event]]):
    """1 to 1,000 events."""

    events = EventFields(  # type: ignore[call-arg]  # of the list, which `many` makes
        many=True,
        allow_empty=False,
        max_length=usage.MOST,
        error_messages={
            "not_a_list": "Must be a list of events.",
            "empty": "Must hold at least one event.",
            "max_length": "Must not hold more than {max_length} events. Send them in several requests.",
        },
    )

    def batch(self) -> list[usage.Event]:
        """The events that the body states. Raises `ValidationError` that names each bad one."""
        try:
            self.is_valid(raise_exception=True)
        except serializers.ValidationError as error:
            raise _by_place(error) from None
        return [_event(said) for said in self.validated_data["events"]]


def refused(places: Mapping[int, Any]) -> serializers.ValidationError:
    """400 that names each bad event by its place in the list, from 0."""
    error = serializers.ValidationError()
    error.detail = {"events": [{"index": at, "errors": said} for at, said in places.items()]}  # type: ignore[dict-item]  # numbers stay numbers
    return error


def _by_place(error: serializers.ValidationError) -> serializers.ValidationError:
    """REST framework names the bad ones by place, in a dict of numbers or, by its setting, in a list."""
    said: Any = error.detail.get("events") if isinstance(error.detail, dict) else None
    named = dict(enumerate(said)) if isinstance(said, list) else said
    if not named or not all(_is_of_one(place, each) for place, each in named.items()):
        return error
    return refused({int(place): _by_field(each) for place, each in named.items() if each})


def _is_of_one(place: object, each: object) -> bool:
    """No: it is about the list as a whole."""
    return str(place).isdigit() and not isinstance(each, str)


def _by_field(each: Any) -> Any:
    """An event that is no object at all is faulted as a whole."""
    return each if isinstance(each, dict) else {"non_field_errors": each}


def _event(said: Mapping[str, Any]) -> usage.Event:
    return usage.Event(
        id=said["id"],
        type=said["type"],
        quantity=said["quantity"],
        occurred_at=said["occurredAt"],
        account=said.get("account"),
        metadata=said.get("metadata", {}),
    )
