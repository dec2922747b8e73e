"""One line per event: time, level, sentence, then `action=… name=value`; never two lines."""

import json
import logging
from datetime import UTC, datetime

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class LineFormatter(logging.Formatter):
    """What was passed as `extra` stands behind the message; control characters are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = f"{when} {record.levelname} {record.name}: {record.getMessage()}{_extras(record)}"
        if record.exc_info:
            line += " exception=" + json.dumps(self.formatException(record.exc_info))
        return _one_line(line)


def _extras(record: logging.LogRecord) -> str:
    extras = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    return "".join(
        f" {name}={value}" for name, value in sorted(extras.items()) if name != "request"
    )


def _one_line(text: str) -> str:
    """A key or a header with a line feed in it must not forge a log line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
