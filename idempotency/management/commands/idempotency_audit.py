"""`manage.py idempotency_audit URL --header … --body …`: does this endpoint apply a request once?"""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from idempotency.audit import checks, conversation, report, steps, target
from idempotency.audit.courier import Courier
from idempotency.audit.order import Headers, Order
from idempotency.audit.report import Report
from idempotency.audit.target import Target


class Command(BaseCommand):
    """Fires about twenty black-box checks at a running endpoint.

    It ends with status 1 if a promise is broken, and with 2 if nothing was sent or could be judged.
    """

    help = "Audit a running endpoint for what its Idempotency-Key promises; it may be anybody's."
    requires_system_checks = ()  # it needs neither this project's database nor its settings

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url", metavar="URL")
        parser.add_argument("--method", default="POST")
        parser.add_argument(
            "--header", action="append", default=[], metavar="'Name: value'",
            help="of every request, again for each; @file reads them from its lines, so that no credential "
            "stands in a shell's history",
        )  # fmt: skip
        body = parser.add_mutually_exclusive_group(required=True)
        body.add_argument("--body", help="an order that the endpoint accepts")
        body.add_argument("--body-file", type=Path)
        parser.add_argument("--other-body", help="another one (default: a number in it plus one)")
        parser.add_argument("--bad-body", help="an order that the endpoint refuses")
        parser.add_argument(
            "--other-header", action="append", default=[], metavar="'Name: value'",
            help="a second user's credentials, in place of the header of that name",
        )  # fmt: skip
        parser.add_argument("--key-header", default="Idempotency-Key")
        parser.add_argument("--marker-header", default="Idempotent-Replayed")
        parser.add_argument("--timeout", type=float, default=15, help="seconds, of one request")
        parser.add_argument("--time-limit", type=float, default=120, help="seconds, of all of them")
        parser.add_argument("--format", choices=["text", "json"], default="text")
        parser.add_argument("--yes", action="store_true", help="do not ask before it is sent")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            where = target.find(options["url"])
        except target.BadTarget as error:
            raise CommandError(str(error), returncode=2) from None
        order = _order(options)
        self._agree(where, options)
        courier = Courier(where, steps.most_requests(), options["timeout"], options["time_limit"])
        evidence = conversation.hold(order, courier=courier)
        found = Report(options["url"], order, evidence, tuple(checks.judge(evidence)))
        self.stdout.write(found.as_json() if options["format"] == "json" else found.as_text())
        if found.says_nothing:
            raise CommandError("Nothing could be audited.", returncode=2)
        if found.failures:
            raise CommandError(f"{found.failures} promises are broken.", returncode=1)

    def _agree(self, where: Target, options: dict[str, Any]) -> None:
        """Say what it will do; anywhere but on this machine a person has to agree."""
        self.stderr.write(report.warning(options["url"], seconds=options["time_limit"]))
        if where.is_loopback or options["yes"]:
            return
        if not sys.stdin.isatty():
            raise CommandError(
                f"{where.host} is not this machine, and nobody is there to ask. Add --yes if its "
                "owner has agreed.",
                returncode=2,
            )
        if _asked(f"Send it to {where.host} ({where.address})? Type yes: ") != "yes":
            raise CommandError("Nothing was sent.", returncode=2)


def _asked(question: str) -> str:
    try:
        return input(question).strip()
    except EOFError:  # Ctrl-D is a no
        return ""


def _order(options: dict[str, Any]) -> Order:
    named = ("other_body", "bad_body")
    other, bad = (None if options[n] is None else options[n].encode() for n in named)
    return Order(
        method=options["method"].upper(),
        headers=_with_type(_headers(options["header"])),
        body=_body(options),
        key_header=options["key_header"],
        marker=options["marker_header"],
        other_body=other,
        bad_body=bad,
        other_user=_headers(options["other_header"]) or None,
    )


def _body(options: dict[str, Any]) -> bytes:
    path: Path | None = options["body_file"]
    text: str = options["body"]
    return text.encode() if path is None else _read(path)


def _headers(given: list[str]) -> Headers:
    lines = [line for text in given for line in _lines(text)]
    return tuple(_pair(line) for line in lines)


def _lines(text: str) -> list[str]:
    if not text.startswith("@"):
        return [text]
    return [line for line in _read(Path(text[1:])).decode().splitlines() if line.strip()]


def _pair(line: str) -> tuple[str, bytes]:
    name, colon, value = line.partition(":")
    if not colon or not name.strip().isascii() or not name.strip() or {"\r", "\n"} & set(line):
        raise CommandError("A header is given as 'Name: value' in one line.", returncode=2)
    return name.strip(), value.strip().encode()


def _with_type(headers: Headers) -> Headers:
    if any(name.lower() == "content-type" for name, _ in headers):
        return headers
    return (*headers, ("Content-Type", b"application/json"))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.", returncode=2) from None
