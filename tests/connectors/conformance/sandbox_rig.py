"""The sandbox provider as a rig: its own process, its own books, its own signed events."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from standardwebhooks import Webhook

from fulfilment.reconcile.evidence import Finding
from fulfilment.testing.conformance import NAME, Fault, HttpRig
from tests.connectors.receiver import SIGNING_SECRET, Receiver
from tests.connectors.sandbox import ACCOUNT, Sandbox, until

PHONE = "+2348012345678"
_OTHER_SECRET = "whsec_" + "b" * 32
_NEXT = "another secret of this test"
_FAULTS = {
    Fault.DECLINED: "decline",
    Fault.TURNED_AWAY: "refuse",
    Fault.CACHED_ERROR: "cached_500",
}
_WORDS = {
    Finding.DONE: ("succeeded", "succeeded"),
    Finding.NOT_DONE: ("failed", "failed"),
    Finding.REVERSED: ("reversed", "reversed"),
}


class SandboxHooks:
    """Events that the provider itself makes, signs and delivers to a receiver of the test."""

    secret = SIGNING_SECRET
    other_secret = _OTHER_SECRET
    timestamped = True
    entry: ClassVar[dict[str, Any]] = {"LIVEMODE": False, "ACCOUNTS": {"acct_sandbox": (NAME,)}}

    def __init__(self, sandbox: Sandbox, receiver: Receiver, *, kind: str) -> None:
        self._sandbox = sandbox
        self._receiver = receiver
        self._kind = kind

    def event(self, reference: str, said: Finding) -> bytes:
        word, status = _WORDS[said]
        booked: dict[str, Any] = next(iter(self._sandbox.payments(reference)), {})
        names = ("id", "amount", "currency", "recipient")
        data = {name: booked[name] for name in names if name in booked}
        data |= {"reference": reference, "status": status}
        made = self._sandbox.make_event(f"{self._kind}.{word}", data)
        came = [d for d in self._receiver.about(reference) if d.event["id"] == made["id"]]
        assert came, f"the provider did not deliver what it made: {made}"
        return came[-1].body

    def strangers(self, reference: str) -> Mapping[str, bytes]:
        told = json.loads(self.event(reference, Finding.DONE))
        others = {
            "another account": {"account": "acct_of_others"},
            "the other mode": {"livemode": True},
        }
        return {
            whose: json.dumps(told | odd | {"id": f"evt_{whose[:3]}_{reference}"}).encode()
            for whose, odd in others.items()
        }

    def signed(self, body: bytes, *, secret: str, at: datetime) -> Mapping[str, str]:
        """By the reference library, so that our own code never vouches for itself."""
        name = "msg_conformance"
        signature = Webhook(secret).sign(name, at, body.decode())
        stamp = str(int(at.timestamp()))
        return {"webhook-id": name, "webhook-timestamp": stamp, "webhook-signature": signature}


class SandboxRig(HttpRig):
    """Transfers, or airtime, through a line of the suite."""

    amount = 100_00
    currency = "NGN"
    credentials = ("SECRET",)

    def __init__(self, sandbox: Sandbox, receiver: Receiver, *, airtime: bool = False) -> None:
        super().__init__(sandbox.url)
        self.sandbox = sandbox
        self.hooks = SandboxHooks(sandbox, receiver, kind="airtime" if airtime else "transfer")
        self.instruction: dict[str, Any] = (
            {"phone": PHONE}
            if airtime
            else {"bank": "058", "account": ACCOUNT, "narration": "INV-1"}
        )
        self.private = (PHONE,) if airtime else (ACCOUNT,)

    def settings(self) -> Mapping[str, Any]:
        return {"URL": self.line.url, "SECRET": self.sandbox.secret}

    @contextmanager
    def provoke(self, fault: Fault) -> Iterator[None]:
        if fault is Fault.RETURNED_LATER:
            rule = self.sandbox.set_fault("reversed_later", seconds=0.4)
        else:
            rule = self.sandbox.set_fault(_FAULTS[fault])
        try:
            yield
        finally:
            self.sandbox.clear_faults(f"id={rule['id']}")

    def lie(self, fault: Fault, body: bytes) -> bytes:
        said = json.loads(body)
        match fault:
            case Fault.WRONG_AMOUNT:
                said["amount"] += 1
            case Fault.WRONG_CURRENCY:
                said["currency"] = "USD"
            case Fault.WRONG_RECIPIENT:
                said["recipient"] = {
                    name: _next_to(value) for name, value in said["recipient"].items()
                }
        return json.dumps(said).encode()

    @contextmanager
    def rotate(self) -> Iterator[Mapping[str, str]]:
        before = self.sandbox.secret
        self._restart(_NEXT)
        try:
            yield {"SECRET": _NEXT}
        finally:
            self._restart(before)

    def let_return(self, reference: str) -> None:
        until(
            lambda: self.sandbox.payments(reference)[0]["status"] == "reversed",
            what="the payment comes back",
        )

    def effects(self, reference: str) -> int:
        happened = [
            line["status"] in {"succeeded", "reversed"} for line in self.sandbox.payments(reference)
        ]
        return sum(happened)

    def _restart(self, secret: str) -> None:
        self.sandbox.stop()
        self.sandbox.secret = secret
        self.sandbox.start()


@contextmanager
def running(*, airtime: bool = False) -> Iterator[SandboxRig]:
    """A provider of its own, for a class of tests."""
    receiver = Receiver()
    options = ("--webhook-url", receiver.url, "--webhook-secret", SIGNING_SECRET)
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Sandbox(Path(folder) / "books.jsonl", options=options)
        rig = SandboxRig(sandbox, receiver, airtime=airtime)
        try:
            yield rig
        finally:
            rig.line.close()
            sandbox.stop()
            receiver.go_down()


def _next_to(masked: str) -> str:
    """Another recipient of the same length."""
    return masked[:-1] + str((int(masked[-1]) + 1) % 10)
