"""What models and a database have, judged, with the reasons that somebody gave."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from django.apps import apps

from idempotency import conf
from idempotency.nulls import in_database, in_models
from idempotency.nulls.rules import Form, Unique, form_of


@dataclass(frozen=True, slots=True)
class Finding:
    """One unique constraint that knows NULL, and what is to be thought of it."""

    unique: Unique
    form: Form
    where: str  # models | database | both
    reason: str = ""  # why two NULLs may be two rows here

    @property
    def explained(self) -> bool:
        """True if it holds for NULL as well, or somebody has said why it need not."""
        return self.form is not Form.OPEN or bool(self.reason)


def of_models() -> list[Finding]:
    """What the installed models declare."""
    return _judged(in_models.uniques(), where="models")


def of_database(alias: str) -> list[Finding]:
    """What the database has. Raises Django's database errors."""
    return _judged(in_database.uniques(alias), where="database")


def of_both(alias: str) -> list[Finding]:
    """Each once. What the database has decides where the two disagree."""
    live, declared = of_database(alias), of_models()
    known = {id(found): twin(found, declared) for found in live}
    merged = [_merged(found, known[id(found)]) for found in live]
    missing = [found for found in declared if found not in known.values()]
    return sorted([*merged, *missing], key=lambda f: (f.explained, f.unique.table, f.unique.name))


def twin(found: Finding, others: Iterable[Finding]) -> Finding | None:
    """The same constraint among the others: of that name, or over the same columns and rows."""
    unique = found.unique
    there = [other for other in others if other.unique.table == unique.table]
    named = (other for other in there if other.unique.name == unique.name)
    alike = (
        other
        for other in there
        if set(other.unique.columns) == set(unique.columns)
        and bool(other.unique.condition) == bool(unique.condition)
    )
    return next(named, None) or next(alike, None)


def _judged(uniques: Iterable[Unique], *, where: str) -> list[Finding]:
    ordered = sorted(uniques, key=lambda unique: unique.table)
    tables = [list(rows) for _, rows in groupby(ordered, key=lambda unique: unique.table)]
    allowed = _allowed()
    return [
        Finding(unique, form_of(unique, beside=table), where, _reason(unique, allowed))
        for table in tables
        for unique in table
        if unique.nullable
    ]


def _allowed() -> Mapping[str, str]:
    """The project's reasons, and `nulls_allowed` of an AppConfig for the app's own models."""
    given: dict[str, str] = {}
    for app in apps.get_app_configs():
        own = getattr(app, "nulls_allowed", {}).items()
        given |= {label: reason for label, reason in own if label.startswith(f"{app.label}.")}
    return given | dict(conf.current().nulls_allowed)


def _reason(unique: Unique, allowed: Mapping[str, str]) -> str:
    return next((allowed[label] for label in unique.labels if label in allowed), "")


def _merged(found: Finding, declared: Finding | None) -> Finding:
    if declared is None:
        return found
    labels = (*declared.unique.labels, *found.unique.labels)
    reason = found.reason or declared.reason
    return replace(found, where="both", reason=reason, unique=replace(found.unique, labels=labels))
