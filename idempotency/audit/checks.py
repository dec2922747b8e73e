"""Every check: the promise, the steps that show it, who judges. Pure: no Django, no I/O."""

from collections.abc import Iterator

from idempotency.audit.evidence import Evidence
from idempotency.audit.findings import Check, Finding, unknown
from idempotency.audit.judges import bodies, crowds, keys, others, repeats

CHECKS = (
    Check("first", "The first request is carried out.", ("first",), repeats.first_works),
    Check(
        "replay",
        "A repeated request gets the same answer.",
        ("first", "replay"),
        repeats.same_answer,
    ),
    Check(
        "marker",
        "Replays are marked, and only they.",
        ("first", "replay"),
        repeats.marker_on_replays_only,
    ),
    Check(
        "headers",
        "A replay keeps Content-Type and Location.",
        ("first", "replay"),
        repeats.headers_kept,
    ),
    Check(
        "cookies",
        "A replay sets no cookie of the first answer.",
        ("first", "replay"),
        repeats.cookies_stay,
    ),
    Check(
        "other-body",
        "Another body under the key is refused.",
        ("first", "other body"),
        bodies.other_body_refused,
    ),
    Check(
        "unspoilt",
        "Another body spoils nothing.",
        ("first", "other body", "replay again"),
        bodies.answer_unspoilt,
    ),
    Check(
        "json-order",
        "The order of JSON members does not matter.",
        ("first", "other order"),
        bodies.order_of_members,
    ),
    Check(
        "chunked",
        "A body sent in chunks is read.",
        ("first", "chunked", "chunked other body"),
        bodies.chunked_body,
    ),
    Check("get", "A safe method ignores the key.", ("first", "look"), repeats.look_is_no_replay),
    Check("quoted", "Quoted and bare form name one key.", ("first", "quoted"), keys.quoted_is_bare),
    Check("missing", "A request without a key is refused.", ("no key",), keys.key_is_needed),
    Check("long", "A very long key is refused, or kept whole.", ("long key",), keys.long_key),
    Check(
        "odd",
        "Odd characters in a key are refused.",
        ("control character", "not ASCII"),
        keys.odd_characters,
    ),
    Check("two-keys", "Two keys in one request are refused.", ("two keys",), keys.two_keys),
    Check("at-once", "Ten at once with one key have one effect.", ("at once",), crowds.at_most_one),
    Check(
        "retry-after",
        "A request in progress is answered with a time.",
        ("at once", "after"),
        crowds.told_when,
    ),
    Check("prompt", "Nobody waits for the first one.", ("at once",), crowds.prompt),
    Check(
        "after",
        "Whoever comes back gets the answer.",
        ("at once", "after"),
        crowds.comes_to_the_answer,
    ),
    Check(
        "stranger",
        "Another user's key is another key.",
        ("first", "somebody else"),
        others.stranger_gets_nothing,
    ),
    Check("refusal", "A refused order is refused again.", ("refused",), others.refusal_replays),
)


def judge(evidence: Evidence) -> Iterator[tuple[Check, Finding]]:
    """Every check's finding, in their order."""
    first = evidence.answer("first")
    accepted = first is not None and first.succeeded
    for check in CHECKS:
        if accepted or check.code == "first":
            yield check, check.judge(evidence)
        else:
            yield check, unknown("The first request was not accepted, so nothing else was sent.")
