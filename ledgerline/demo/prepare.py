"""Bring the database up to date and seed it: `python -m ledgerline.demo.prepare`.

A process of its own, because Django reads its settings before the demo's servers run.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from . import processes, starting
from .errors import DemoError


def in_a_process(environment: Mapping[str, str]) -> dict[str, Any]:
    """Migrate and seed; returns `users` and `staff` as `demo.json` has them.

    Raises:
        DemoError: the end of what the process said.
    """
    done = subprocess.run(
        [sys.executable, "-m", "ledgerline.demo.prepare"],
        cwd=processes.ROOT, env=dict(environment), check=False,
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        raise DemoError(
            f"The database could not be brought up to date:\n{starting.last_lines(done.stderr)}\n",
            "If its data are from another version of the demo, delete the folder and start again.",
        )
    prepared: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return prepared


def main() -> None:
    """Print what was seeded as one line of JSON."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ledgerline.settings")
    django.setup()
    from django.core.management import call_command

    from . import seed

    call_command("migrate", verbosity=0, interactive=False)
    print(json.dumps(seed.run()))


if __name__ == "__main__":
    main()
