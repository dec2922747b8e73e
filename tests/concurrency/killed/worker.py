"""Worker processes, one for each order, forked from one that has everything loaded.

    python -m tests.concurrency.killed.worker

`{"work": …, "subject": …, "ports": {…}}` starts one and prints its id; `{"wait": id}` prints its
exit code and what it returned, as JSON. The first process is connected to nothing, so each child
begins as a fresh worker does.
"""

import gc
import json
import os
import sys
import traceback
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import django


def main() -> None:
    django.setup()
    _load()
    said: dict[int, int] = {}
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            _tell(*_ended(order["wait"], said.pop(order["wait"])))
        else:
            pid, reading = _begun(order)
            said[pid] = reading
            _tell(pid)


def _load() -> None:
    """What the first of them would load: the others' first is then only their own work."""
    from django.conf import settings
    from django.core.cache import caches
    from django.urls import reverse

    from fulfilment.connectors import http
    from tests.concurrency.killed import works
    from tests.concurrency.together import member

    assert works
    assert member
    gc.freeze()  # or each child copies what its first collection touches
    assert caches["default"].client
    assert reverse("bank:transfers")
    http.call("GET", f"{settings.SANDBOX['URL']}/faults", deadline=timedelta(seconds=5))


def _begun(order: dict[str, Any]) -> tuple[int, int]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os._exit(_worked(order, writing))
    os.close(writing)
    return pid, reading


def _worked(order: dict[str, Any], writing: int) -> int:
    from django.utils.module_loading import import_string

    try:
        if order["ports"]:
            _redirect(**order["ports"])
        said = import_string(f"tests.concurrency.{order['work']}")(*order["subject"])
        os.write(writing, json.dumps(said).encode())
    except Exception:  # noqa: BLE001  # whoever waits for it judges
        os.write(writing, json.dumps(traceback.format_exc()).encode()[-60000:])
        return 1
    return 0


def _redirect(*, database: int, provider: int, cache: int) -> None:
    """Everything that this process says goes over its own wire."""
    from django.conf import settings
    from django.db import connections

    connections["default"].settings_dict |= {"HOST": "127.0.0.1", "PORT": database}
    settings.CACHES["default"]["LOCATION"] = _moved(settings.REDIS_URL, cache)
    for connector in settings.FULFILMENT["CONNECTORS"].values():
        connector["URL"] = _moved(connector["URL"], provider)


def _moved(url: str, port: int) -> str:
    parts = urlsplit(url)
    account = parts.netloc.rpartition("@")[0]
    place = f"{account}@127.0.0.1:{port}" if account else f"127.0.0.1:{port}"
    return parts._replace(netloc=place).geturl()


def _ended(pid: int, reading: int) -> tuple[int, str]:
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), said or "null"


def _tell(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
