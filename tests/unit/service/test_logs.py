"""A log line is one line, whatever a client puts into it."""

import logging

from ledgerline.logs import LineFormatter


def _line(message: str, **extra: object) -> str:
    record = logging.makeLogRecord({"msg": message, "name": "bank", "levelname": "INFO", **extra})
    return LineFormatter().format(record)


def test_extras_stand_behind_the_message_in_order() -> None:
    assert _line("case opened", action="case_opened", id=7).endswith(
        " INFO bank: case opened action=case_opened id=7"
    )


def test_a_line_feed_in_a_value_cannot_forge_a_second_line() -> None:
    line = _line("refused", key="k\r\n2026 INFO forged")
    assert "\n" not in line, "a client's line feed split the log line"
    assert r"key=k\r\n2026 INFO forged" in line


def test_an_exception_stays_on_the_line() -> None:
    try:
        raise ValueError("first\nsecond")
    except ValueError as error:
        line = _line("broke", exc_info=(type(error), error, error.__traceback__))
    assert "\n" not in line
    assert "ValueError" in line


def test_an_account_number_is_masked_and_a_reference_is_not() -> None:
    line = _line("Not Found: /v1/accounts/0123456780/entries", reference="0123456789abcdef" * 2)
    assert "0123456780" not in line, "the log holds a whole account number"
    assert "/v1/accounts/******6780/entries" in line
    assert "reference=0123456789abcdef0123456789abcdef" in line
