"""A process that receives one delivery as the service does, and prints what it answered.

    python -m tests.integration.webhooks.one_delivery < body

Its settings are the service's own, from the environment; `FULFILMENT_KILL_AT` says where it dies.
"""

import sys

import django


def main() -> None:
    django.setup()
    from tests.integration.webhooks.support import deliver

    answer = deliver(sys.stdin.buffer.read(), address="/v1/webhooks/sandbox")
    sys.stdout.write(f"{answer.status_code}\n")


if __name__ == "__main__":
    main()
