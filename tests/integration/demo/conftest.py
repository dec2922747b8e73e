"""Servers of a test's own, whatever the test run itself was given."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ledgerline.demo import embedded, placement
from ledgerline.demo.embedded import NAMES, Servers

Start = Callable[[Path], Servers]


@pytest.fixture(autouse=True)
def _nothing_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def start() -> Iterator[Start]:
    """`embedded.start`, with everything ended and deleted after the test."""
    started: list[Servers] = []
    folders: list[Path] = []

    def start(folder: Path) -> Servers:
        folders.append(folder)  # a start that fails leaves its data, for the next one
        servers = embedded.start(folder, durable=False)
        started.append(servers)
        return servers

    yield start
    for servers in started:
        servers.discard()
    for folder in folders:
        placement.discard(folder / "postgres")
