#!/usr/bin/env python
"""Django's command line for the Ledgerline service."""

import os
import sys


def main() -> None:
    """Run the command; a setting that cannot be is one sentence, and Ctrl-C is no error."""
    from ledgerline.env import BadSetting

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ledgerline.settings")
    try:
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except BadSetting as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)  # as a shell counts it: 128 + SIGINT


if __name__ == "__main__":
    main()
