"""Runs the provider: `python -m fulfilment.connectors.sandbox.provider --port N --books FILE`."""

import argparse
import signal
import sys
from dataclasses import dataclass

from fulfilment.connectors.sandbox.provider.agenda import Agenda
from fulfilment.connectors.sandbox.provider.books import Books
from fulfilment.connectors.sandbox.provider.control import Control
from fulfilment.connectors.sandbox.provider.courier import Courier
from fulfilment.connectors.sandbox.provider.desk import Desk
from fulfilment.connectors.sandbox.provider.endpoint import EndpointUnusable, endpoint
from fulfilment.connectors.sandbox.provider.journal import BooksUnusable
from fulfilment.connectors.sandbox.provider.options import parser
from fulfilment.connectors.sandbox.provider.outbox import Outbox
from fulfilment.connectors.sandbox.provider.routes import Routes
from fulfilment.connectors.sandbox.provider.server import Server

_ENDS = {signal.SIGTERM, signal.SIGINT}


@dataclass(frozen=True, slots=True)
class Provider:
    """All its parts, built and not yet running."""

    server: Server
    desk: Desk
    outbox: Outbox
    courier: Courier
    agenda: Agenda
    routes: Routes


def main(arguments: list[str] | None = None) -> int:
    """Serves until SIGTERM or SIGINT; 0 after a clean end, 1 with a sentence on stderr."""
    options = parser().parse_args(arguments)
    # Blocked before any thread starts, so that only `sigwait` below receives them.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        provider = _built(options)
    except (BooksUnusable, EndpointUnusable) as error:
        return _fail(str(error))
    except OSError as error:
        reason = error.strerror or error
        return _fail(f"port {options.port} cannot be used ({reason}); choose another with --port")
    _serve(provider)
    return 0


def _built(options: argparse.Namespace) -> Provider:
    receiver = endpoint(options.webhook_url, options.webhook_secret)
    books = Books(options.books)
    beside = options.books.with_name(options.books.name + ".outbox")
    outbox = Outbox(beside, booked=books.events(), seed=options.seed)
    server, agenda = Server(port=options.port), Agenda()
    courier = Courier(outbox, agenda, endpoint=receiver, delay=options.webhook_delay)
    desk = Desk(books, courier, agenda, url=server.url, delay=options.delay, seed=options.seed)
    control = Control(desk, outbox, courier)
    routes = Routes(desk, control, secret=options.secret, url=server.url)
    return Provider(server, desk, outbox, courier, agenda, routes)


def _serve(provider: Provider) -> None:
    provider.agenda.start()
    provider.desk.start()
    provider.courier.start()
    provider.server.start(provider.routes)
    print(f"sandbox provider listening on {provider.server.url}", flush=True)  # noqa: T201  # the ready line
    signal.sigwait(_ENDS)
    # No `shutdown`, which may take half a second, and no wait for what is under way: calls are
    # booked, and events go out again after the next start.
    provider.server.socket.close()
    provider.desk.close()
    provider.outbox.close()


def _fail(sentence: str) -> int:
    print(f"sandbox provider: {sentence}.", file=sys.stderr)  # noqa: T201  # for who started it
    return 1


if __name__ == "__main__":
    sys.exit(main())
