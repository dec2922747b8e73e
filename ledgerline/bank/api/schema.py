"""How the API describes itself at /v1/schema/ (OpenAPI 3)."""

from typing import Any

from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerFieldExtension,
)
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_MAYBE_TEXT: Schema = {"type": "string", "nullable": True}
_TIME: Schema = {"type": "string", "format": "date-time"}
_MAYBE_TIME: Schema = _TIME | {"nullable": True}
_MINOR: Schema = {"type": "integer", "format": "int64", "description": "minor units"}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _page(name: str, rows: Schema) -> Schema:
    return _object(**{name: {"type": "array", "items": rows}, "next": _MAYBE_TEXT})


TRANSFER = _object(
    id={"type": "string", "format": "uuid"},
    reference=_TEXT,
    state={
        "type": "string",
        "enum": ["pending", "fulfilled", "failed", "cancelled", "reversed"],
    },
    amount=_MINOR,
    currency=_TEXT,
    fromAccount=_TEXT | {"description": "masked"},
    toAccount=_TEXT | {"description": "masked"},
    toBank=_MAYBE_TEXT,
    narration=_TEXT,
    createdAt=_TIME,
    decidedAt=_MAYBE_TIME,
    reversedAt=_MAYBE_TIME,
)
CONFIRMATION = _object(
    token=_TEXT | {"description": "for the header Confirmation-Token; good for one key"},
    expiresAt=_TIME,
    amount=_MINOR,
    currency=_TEXT,
    fromAccount=_TEXT | {"description": "masked"},
    toAccount=_TEXT | {"description": "masked"},
    toBank=_MAYBE_TEXT,
    payeeName=_MAYBE_TEXT | {"description": "masked; null for an account of another bank"},
)
TRANSFERS = _page("transfers", TRANSFER)
PAYMENT = _object(
    id={"type": "string", "format": "uuid"},
    reference=_TEXT,
    state={"type": "string", "enum": ["open", "paid", "fulfilled", "refund_due"]},
    amount=_MINOR,
    currency=_TEXT,
    phone=_TEXT | {"description": "masked"},
    narration=_TEXT,
    checkoutUrl=_TEXT | {"format": "uri", "description": "where to pay"},
    createdAt=_TIME,
    paidAt=_MAYBE_TIME,
    fulfilledAt=_MAYBE_TIME,
    refundDueAt=_MAYBE_TIME,
)
ACCOUNT = _object(
    number=_TEXT,
    name=_TEXT,
    currency=_TEXT,
    exponent={"type": "integer", "description": "decimal places of the currency (ISO 4217)"},
    balance=_MINOR,
    held=_MINOR,
    available=_MINOR,
    frozen={"type": "boolean"},
    openedAt=_TIME,
)
ACCOUNTS = _object(accounts={"type": "array", "items": ACCOUNT})
ENTRY = _object(
    id={"type": "integer", "format": "int64"},
    amount=_MINOR,
    currency=_TEXT,
    kind=_TEXT,
    transfer=_MAYBE_TEXT | {"format": "uuid"},
    postedAt=_TIME,
)
ENTRIES = _page("entries", ENTRY)
USAGE_EVENT = _object(
    id=_TEXT,
    type=_TEXT,
    quantity={"type": "integer", "format": "int64"},
    occurredAt=_TIME,
    account=_MAYBE_TEXT | {"description": "masked"},
    metadata={"type": "object", "additionalProperties": _TEXT},
    recordedAt=_TIME,
)
USAGE_EVENTS = _page("events", USAGE_EVENT)
_COUNT: Schema = {"type": "integer"}
_USAGE_OUTCOME = _object(
    id=_TEXT, status={"type": "string", "enum": ["recorded", "deduplicated", "conflict"]}
)
_USAGE_OUTCOME["properties"]["differs"] = {
    "type": "array",
    "items": _TEXT,
    "description": "of a conflict: what was said otherwise under this id before",
}
USAGE_OUTCOMES = _object(
    recorded=_COUNT,
    deduplicated=_COUNT,
    conflicts=_COUNT,
    events={"type": "array", "items": _USAGE_OUTCOME},
)
# What stands before every handler of the API may answer with these.
EDGES = ("invalid", "forbidden", "not_acceptable", "unsupported_media_type", "throttled")
# What is certain of an order before any money is looked at.
ORDER_REFUSALS = (
    "currency_unsupported",
    "limit_exceeded",
    "unknown_account",
    "unknown_payee",
    "currency_mismatch",
    "same_account",
)

TYPE = OpenApiParameter("type", OpenApiTypes.STR, description="only events of this type")
PREFER = OpenApiParameter(
    "Prefer",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="`wait=N` (RFC 7240): up to 10 seconds, the answer waits for the outcome",
)
CONFIRMATION_TOKEN = OpenApiParameter(
    "Confirmation-Token",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="of POST /v1/transfer-confirmations; required above an amount per currency",
)
LIMIT = OpenApiParameter("limit", OpenApiTypes.INT, description="1 to 100 rows, usually 20")
AFTER = OpenApiParameter("after", OpenApiTypes.STR, description="the last row you have seen")
REFERENCE = OpenApiParameter("reference", OpenApiTypes.STR, description="finds the one of a key")


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """`Authorization: Bearer <token>`."""

    target_class = "ledgerline.tokens.BearerToken"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> Schema:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}


class WholeNumberSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """The range that a number has to lie in."""

    target_class = "ledgerline.bank.api.fields.WholeNumber"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Schema:
        limits = {"minimum": self.target.least, "maximum": self.target.most}
        return {"type": "integer", "format": "int64", **limits}


class PatternSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """The pattern that a text has to match as a whole."""

    target_class = "ledgerline.bank.api.fields.Pattern"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Schema:
        return {"type": "string", "pattern": f"^{self.target.pattern}$"}
