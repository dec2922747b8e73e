"""Books that take everything, for payments of the kind `test`; and what kills or stops a worker."""

import os
import signal

from django.apps import AppConfig

# Before the mark, of the connector of this name only: nothing was sent, and the worker is gone.
_FATAL = "kills_before_the_mark"


class ProjectConfig(AppConfig):
    name = "tests.recovery.project"
    label = "recovery_project"

    def ready(self) -> None:
        import fulfilment
        from fulfilment.dispatch import attempt

        def nothing(*_: object) -> None:
            """These books take everything."""

        taking = fulfilment.Handlers(on_fulfilled=nothing, on_failed=nothing, on_reversed=nothing)
        fulfilment.register("test", taking)
        mark = attempt.mark

        def fatal(claimed: attempt.Claimed) -> bool:
            if claimed.fulfilment.connector == _FATAL:
                os.kill(os.getpid(), signal.SIGKILL)
            return mark(claimed)

        attempt.mark = fatal
