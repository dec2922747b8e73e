"""One web process for each line of JSON, to be killed at any moment: `{path, body, headers}`.

    python -m tests.concurrency.confirming_worker

Prints the id of the process, then `<exit code> <answer as JSON>`. They are forked from one that has
everything loaded and is connected to nothing, so that each takes no more than its request does.
"""

import json
import os
import sys

import django


def main() -> None:
    django.setup()
    from django.core.cache import caches
    from django.test import Client

    Client().get("/healthz")  # loads what the first request loads
    assert caches["default"].client
    for line in sys.stdin:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(writing, _answer(**json.loads(line)))
            os._exit(0)
        os.close(writing)
        _say(str(pid))
        said = os.fdopen(reading).read()
        _, status = os.waitpid(pid, 0)
        _say(f"{os.waitstatus_to_exitcode(status)} {said}")


def _answer(*, path: str, body: str, headers: dict[str, str]) -> bytes:
    from django.test import Client

    answer = Client(raise_request_exception=False).generic(
        "POST", path, body.encode(), content_type="application/json", headers=headers
    )
    return json.dumps([answer.status_code, answer.content.decode()]).encode()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
