"""A worker that gets a tick every few milliseconds: `python -m tests.concurrency.wave.worker`.

It begins with the first line that it is sent and ends when nobody can send it another. Of each tick
it prints a line: when it began and ended on the machine's steady clock, and of how many rows it asked.
"""

import json
import select
import sys
import time

import django

PAUSE = 0.02


def main() -> None:
    django.setup()
    import fulfilment
    from fulfilment import rounds

    def nothing(*_: object) -> None:
        """These books take everything."""

    taking = fulfilment.Handlers(on_fulfilled=nothing, on_failed=nothing, on_reversed=nothing)
    fulfilment.register("test", taking)
    _say("ready")
    sys.stdin.readline()
    while not select.select([sys.stdin], [], [], PAUSE)[0]:
        begun = time.monotonic()
        asked = rounds.look_up_round()
        _say({"begun": begun, "ended": time.monotonic(), "asked": asked})


def _say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
