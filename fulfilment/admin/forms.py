"""What staff fill in. The services check everything again; a form only asks politely."""

from typing import Any

from django import forms

from fulfilment.admin.dossier import Dossier

VERDICTS = (("fulfilled", "paid out"), ("failed", "not paid out"))


class ResolveForm(forms.Form):
    """A verdict on evidence. `version` names the state of the row that the person was looking at."""

    verdict = forms.ChoiceField(choices=VERDICTS, widget=forms.HiddenInput)
    version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    evidence_reference = forms.CharField(
        label="Where is the evidence?",
        max_length=255,
        help_text="Where a colleague finds it again: statement and line, ticket, provider's id.",
        error_messages={"required": "Say where the evidence can be found: statement, ticket, id."},
    )
    note = forms.CharField(
        label="What does it say?",
        max_length=2000,
        help_text="In your words: who said what, and when.",
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Say in a sentence what the evidence shows."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""


class NoteForm(forms.Form):
    """A note for whoever looks next."""

    note = forms.CharField(
        label="Note",
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Write the note before saving it."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""


def resolve_form(dossier: Dossier, verdict: str, posted: Any = None) -> ResolveForm | None:
    """The form under one verdict's button: what was posted for it, or a fresh one."""
    if not verdict:
        return None
    if isinstance(posted, ResolveForm) and posted.data.get("verdict") == verdict:
        return ResolveForm(posted.data, auto_id=f"{verdict}_%s")
    known = {"verdict": verdict, "version": dossier.fulfilment.version}
    return ResolveForm(initial=known, auto_id=f"{verdict}_%s")
