"""One worker process that makes one attempt: `python -m tests.concurrency.fulfilment_worker ID`.

What is registered and which database it uses come from its environment.
"""

import sys

import django


def main(fulfilment_id: int) -> None:
    django.setup()
    import fulfilment
    from fulfilment.dispatch import attempt

    def nothing(*_: object) -> None:
        """These books take everything."""

    fulfilment.register(
        "test",
        fulfilment.Handlers(on_fulfilled=nothing, on_failed=nothing, on_reversed=nothing),
    )
    attempt.run(fulfilment_id)


if __name__ == "__main__":
    main(int(sys.argv[1]))
