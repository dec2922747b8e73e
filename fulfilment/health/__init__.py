"""Is the machine at work? Asked of the database, because no process knows it by itself.

    from fulfilment import health

    health.now()  # Health(figures, troubles), for a page or a probe

`fulfilment.health.metrics` says the same to Prometheus. What counts as trouble is
`FULFILMENT["HEALTH"]`, by the names of `limits.defaults`.
"""

from dataclasses import dataclass

from fulfilment.conf import Conf, conf
from fulfilment.health import figures, limits
from fulfilment.health.figures import Figures
from fulfilment.health.limits import COUNTS, Limit, Trouble

__all__ = ["COUNTS", "Figures", "Health", "Trouble", "limits_of", "now"]


@dataclass(frozen=True, slots=True)
class Health:
    """The figures of one moment and what is wrong with them; healthy where nothing is."""

    figures: Figures
    troubles: tuple[Trouble, ...]

    @property
    def healthy(self) -> bool:
        """True: nothing is above its limit."""
        return not self.troubles


def now() -> Health:
    """Ask the database. Raises DatabaseError or InterfaceError if it does not answer in 2 s."""
    found = figures.now()
    return Health(found, limits.troubles(found.judged(), limits_of(conf())))


def limits_of(settings: Conf) -> dict[str, Limit]:
    """The limits as they are set; those that are not named keep their default."""
    given = limits.defaults(
        poll_interval=settings.poll_interval,
        lease=settings.lease,
        case_deadline=settings.case_deadline,
    )
    return given | dict(settings.health)
