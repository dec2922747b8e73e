"""One line per event: time, level, sentence, then `action=… name=value`; never two lines.

Account numbers are masked on their way out, wherever they come from.
"""

import json
import logging
import re
from datetime import UTC, datetime

_NUMBER = re.compile(r"(?<![\w.-])[0-9]{10}(?![\w.-])")  # a whole word of ten digits

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class LineFormatter(logging.Formatter):
    """What was passed as `extra` stands behind the message; control characters are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = f"{when} {record.levelname} {record.name}: {record.getMessage()}{_extras(record)}"
        if record.exc_info:
            line += " exception=" + json.dumps(self.formatException(record.exc_info))
        return masked(_one_line(line))


def masked(text: str) -> str:
    """Account numbers by their last four digits: whoever reads logs need not know them."""
    return _NUMBER.sub(lambda found: "*" * (len(found[0]) - 4) + found[0][-4:], text)


def _extras(record: logging.LogRecord) -> str:
    extras = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    return "".join(
        f" {name}={value}" for name, value in sorted(extras.items()) if name != "request"
    )


def _one_line(text: str) -> str:
    """A key or a header with a line feed in it must not forge a log line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
