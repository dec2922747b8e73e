"""What staff fill in. The service checks it again; a form only asks politely."""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from idempotency import contract, problems
from idempotency.contract import Answer, Exit

_ISO = ["%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%dT%H:%M:%S%z"]
_NO_BODY = (204, 304)


class PlainForm(forms.Form):
    """Labels without colons: some of them are questions."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""


class SeenForm(PlainForm):
    """Which hold the person was looking at."""

    held_at = forms.DateTimeField(input_formats=_ISO, widget=forms.HiddenInput)
    next_check_at = forms.DateTimeField(
        input_formats=_ISO, widget=forms.HiddenInput, required=False
    )


class ReasonForm(PlainForm):
    """Why, in words."""

    reason = forms.CharField(
        label="Why?",
        max_length=2000,
        help_text="What you rely on, and where a colleague finds it: ticket, statement and line, call.",
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": "Say why: it is kept in the audit trail."},
    )


class OpenForm(ReasonForm):
    """Why somebody has to see an answer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].help_text = "What you need it for: ticket, complaint, call."


class ReleaseForm(SeenForm, ReasonForm):
    """That nothing happened."""

    field_order = ["held_at", "next_check_at", "reason"]


class SettleForm(SeenForm, ReasonForm):
    """The answer that the client is to get."""

    status = forms.IntegerField(
        label="Status",
        min_value=200,
        max_value=499,
        help_text="201 for what happened and made something, 400 for what is refused for good.",
        error_messages={"required": "Give the status of the answer, for example 201."},
    )
    body = forms.CharField(
        label="Body (JSON)",
        required=False,
        max_length=100_000,
        help_text="As the view would have answered; the client acts on it. Left empty: no body.",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )
    field_order = ["held_at", "next_check_at", "status", "body", "reason"]

    def clean_status(self) -> int:
        """A status that the contract stores."""
        status: int = self.cleaned_data["status"]
        if contract.exit_of(status, raised=False) is not Exit.SETTLE:
            raise ValidationError(
                "This status means “not now”, and a retry would have to run again."
            )
        return status

    def clean_body(self) -> str:
        """Nothing, or JSON."""
        body: str = self.cleaned_data["body"].strip()
        try:
            if body:
                json.loads(body, parse_constant=refuse_constant).__class__  # noqa: B018  parsed to see that it can be
        except (ValueError, RecursionError):
            raise ValidationError("This is not JSON.") from None
        return body

    def clean(self) -> dict[str, Any]:
        """Some statuses have no body."""
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("status") in _NO_BODY and cleaned.get("body"):
            self.add_error("body", f"An answer with status {cleaned['status']} has no body.")
        return cleaned

    def answer(self) -> Answer:
        """What was filled in."""
        status, body = self.cleaned_data["status"], self.cleaned_data["body"].encode()
        kind = problems.CONTENT_TYPE if status >= 400 and b'"code"' in body else "application/json"
        return Answer(status, (("Content-Type", kind),) if body else (), body)


def refuse_constant(constant: str) -> None:
    """NaN and Infinity, which Python reads as JSON."""
    raise ValueError(f"{constant} is no JSON")
