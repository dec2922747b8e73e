"""Workers, beats, a broker and a provider of one's own: real processes on a copy of the test's database."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psutil
from django.db import connection
from kombu import Connection

from ledgerline.celery import app
from ledgerline.demo import valkey
from ledgerline.demo.children import Child, Children, Program
from tests.connectors.sandbox import Sandbox, until

ROOT = Path(__file__).resolve().parents[2]
LEASE, DEADLINE, MARGIN = 5.0, 4.0, 0.3
BOUND = 60.0  # a busy machine included: lease, fence, three look-ups and a poll are less than ten
TIMES = {
    "FULFILMENT_LEASE": str(LEASE),
    "FULFILMENT_TOTAL_DEADLINE": str(DEADLINE),
    "FULFILMENT_MARGIN": str(MARGIN),
    "FULFILMENT_SCHEDULE": "0.5,0.5,0.5,1,2",
    "FULFILMENT_POLL_INTERVAL": "0.5",
    "SANDBOX_VISIBLE_AFTER": "0.2",
    "SANDBOX_NOT_FOUND_FINAL_AFTER": "1",
}
CREW = ("one", "two")


class Stack:
    """Started piece by piece by the tests that need them; all of it ends with `stop`."""

    def __init__(self, folder: Path, *, provider: tuple[str, ...] = ()) -> None:
        """`provider`: more of its command line, such as where it reports to."""
        self.folder = folder
        self.children = Children(folder / "stack.json")
        self.broker_url = valkey.start(
            self.children, folder / "broker", rules=("maxmemory-policy noeviction", "appendonly no")
        )
        self.sandbox = Sandbox(folder / "books.jsonl", options=provider)
        self.environment = TIMES | {
            "SANDBOX_URL": self.sandbox.url,
            "SANDBOX_SECRET": self.sandbox.secret,
            "CELERY_BROKER_URL": self.broker_url,
            "DATABASE_URL": database_url(),
            "DJANGO_SETTINGS_MODULE": "tests.recovery.project.settings",
        }

    def start_all(self) -> None:
        """The crew: as a deployment that overlaps has it, with two beats."""
        children = [self.worker(name) for name in CREW]
        for name in CREW:
            self.beat(f"beat-{name}")
        for child in children:
            self.ready(child)

    def worker(self, name: str, *, host: str = "recovery", **environment: str) -> Child:
        """A prefork worker with two children, for both queues."""
        return self._spawn(
            name, "celery", "--app", "ledgerline", "worker", "--queues", "dispatch,keeping",
            "--hostname", f"{name}@{host}", "--pool", "prefork", "--concurrency", "2",
            "--loglevel", "INFO", "--without-gossip", "--without-mingle", **environment,
        )  # fmt: skip

    def ready(self, worker: Child) -> None:
        what = f"{worker.program.role} to be ready"
        until(lambda: " ready." in worker.said(), what=what, seconds=BOUND)

    def hint(self, *ids: int) -> None:
        """Tell a worker of these rows, as whoever started them would have."""
        with Connection(self.broker_url) as broker:
            for pk in ids:
                app.send_task("fulfilment.dispatch", (pk,), connection=broker)

    def redeliver(self) -> None:
        """What any worker does with messages that others have not acknowledged for too long."""
        at_once = {"visibility_timeout": 0}
        with Connection(self.broker_url, transport_options=at_once) as broker:
            broker.default_channel.qos.restore_visible(interval=1)

    def beat(self, name: str) -> Child:
        schedule = str(self.folder / f"{name}-schedule")
        return self._spawn(
            name, "celery", "--app", "ledgerline", "beat", "--schedule", schedule, "--loglevel", "INFO"
        )  # fmt: skip

    def sweeps(self, name: str = "sweeps", **environment: str) -> Child:
        """`run_sweeps`, which needs no broker."""
        return self._spawn(name, str(ROOT / "manage.py"), "run_sweeps", **environment)

    def pool(self, name: str) -> list[psutil.Process]:
        """The children of a worker, which do its work."""
        return psutil.Process(self.child(name).process.pid).children()

    def child(self, name: str) -> Child:
        return next(c for c in self.children.running() if c.program.role == name)

    def kill(self, *names: str) -> None:
        """Each process and all below it, at once."""
        for name in names:
            os.killpg(self.child(name).process.pid, signal.SIGKILL)
            self.child(name).process.wait(timeout=20)

    def start(self, *names: str) -> None:
        """Killed ones, as they were."""
        for name in names:
            self.children.spawn(self.child(name).program)

    def log(self) -> str:
        """What all of them said, for what must not be in it."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("*.log")))

    def stop(self) -> None:
        self.kill(*(c.program.role for c in self.children.running() if c.process.poll() is None))
        self.children.end_all()
        self.sandbox.stop()

    def _spawn(self, name: str, *arguments: str, **environment: str) -> Child:
        module = () if arguments[0].endswith(".py") else ("-m",)
        return self.children.spawn(
            Program(
                role=name,
                command=(sys.executable, *module, *arguments),
                cwd=ROOT,
                log=self.folder / f"{name}.log",
                env=os.environ | self.environment | environment,
            )
        )


def database_url() -> str:
    """Of the database that the test is on at this moment."""
    at = connection.settings_dict
    who = f"{quote(str(at['USER']))}:{quote(str(at['PASSWORD']))}"
    return f"postgresql://{who}@{at['HOST']}:{at['PORT']}/{at['NAME']}"


@contextmanager
def running(stack: Stack) -> Iterator[Stack]:
    """A stack; whatever is still running at the end is ended."""
    try:
        yield stack
    finally:
        stack.stop()
