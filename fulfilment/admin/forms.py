"""What staff fill in. The services check everything again; a form only asks politely."""

from collections.abc import Mapping
from typing import Any

from django import forms

from fulfilment.admin.dossier import Dossier
from fulfilment.admin.outcomes import Outcome
from fulfilment.admin.words import BADGES, verdict
from fulfilment.reconcile.verdicts import AGAIN

VERDICTS = [
    *((state.value, badge.text) for state, badge in BADGES.items() if not state.is_open),
    (AGAIN, verdict(AGAIN)),
]


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


class ProposalForm(forms.Form):
    """Which proposal, and the state of the row that the person was looking at."""

    version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    proposal = forms.IntegerField(min_value=1, widget=forms.HiddenInput)


class CancelForm(forms.Form):
    """Why, in words. `version` names the state of the row that the person was looking at."""

    version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    note = forms.CharField(
        label="Why is it cancelled?",
        max_length=2000,
        help_text="Who asked for it, and when. The customer may want to know.",
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": "Say why it is cancelled."},
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


def form_of(
    outcome: Outcome, dossier: Dossier, posted: Mapping[str, forms.Form]
) -> forms.Form | None:
    """The form under an outcome's button: what was posted for it, or a fresh one."""
    build = _FORMS.get(outcome.step)
    if build is None or not outcome.name:
        return None
    given, auto_id = posted.get(outcome.step), f"{outcome.name}_%s"
    if given is not None and given.data.get("verdict", outcome.name) == outcome.name:
        return build(given.data, auto_id=auto_id)
    known = {"verdict": outcome.name, "version": dossier.fulfilment.version}
    if dossier.proposal is not None:
        known["proposal"] = dossier.proposal.pk
    return build(initial=known, auto_id=auto_id)


_FORMS: Mapping[str, type[forms.Form]] = {
    "resolve": ResolveForm,
    "cancel": CancelForm,
    "approve": ProposalForm,
    "withdraw": ProposalForm,
}
