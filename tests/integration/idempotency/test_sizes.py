"""Answers that are too large to keep: delivered whole, never run again."""

from typing import Any

import pytest
from django.http import FileResponse, HttpResponse, StreamingHttpResponse

from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"


@pytest.mark.parametrize("kind", ["large", "stream"])
def test_what_is_too_large_to_keep_is_delivered_whole_and_never_run_again(
    ada: Phone, stage_: Stage, key: str, settings: Any, kind: str
) -> None:
    settings.IDEMPOTENCY = {"MAX_RESPONSE_BYTES": 1000}

    def act(request: Any) -> Any:
        effect(request)
        parts = [b"x" * 600, b"y" * 600]
        made = HttpResponse(b"".join(parts)) if kind == "large" else StreamingHttpResponse(parts)
        made["Location"] = "/t/1"
        return made

    stage_.act = act
    first, again = ada.send(key), ada.send(key)
    body = b"".join(first.streaming_content) if first.streaming else first.content
    assert body == b"x" * 600 + b"y" * 600, "the first client did not get the whole body"
    assert (again.status_code, again.content) == (200, b"")
    assert again.headers["Idempotent-Body-Omitted"] == "true"
    assert again.headers["Location"] == "/t/1"
    assert again.headers[MARKER] == "true"
    assert (effects(), stage_.calls) == (1, 1), "a request ran again because of its answer's size"


def test_a_large_file_is_delivered_whole(
    ada: Phone, stage_: Stage, key: str, settings: Any, tmp_path: Any
) -> None:
    settings.IDEMPOTENCY = {"MAX_RESPONSE_BYTES": 5000}
    content = bytes(range(256)) * 64
    (tmp_path / "f.bin").write_bytes(content)
    stage_.act = lambda request: FileResponse((tmp_path / "f.bin").open("rb"))
    first, again = ada.send(key), ada.send(key)
    assert b"".join(first.streaming_content) == content
    first.close()
    assert (again.headers["Idempotent-Body-Omitted"], stage_.calls) == ("true", 1)
