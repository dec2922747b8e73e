"""A gentle story: two customers pay now and then, and the provider has its bad moments.

`python -m ledgerline.demo.simulator --folder .demo`. The same seed tells the same story, so the
queue fills and empties as it did before. One tap every few seconds; it leaves ada, bola and chidi,
their accounts and the provider's other faults alone.
"""

import argparse
import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from ledgerline.demo.check.phone import Phone, new_key

SEED = 3  # shows every scene within the first minute
EVERY = 4.0  # seconds between taps: a story that can be followed, and no load
OUTAGE = 40.0  # seconds for which one payment's look-ups fail: long enough for a case to open
PHONES = 8  # taps under way at once; those that meet an outage wait for its end
PAYERS = ("dayo", "efe")
BANK = "058"


@dataclass(frozen=True, slots=True)
class Scene:
    """What happens to a tap, and how often: `weight` in a hundred."""

    wish: str  # the provider's fault, as a narration asks for it; empty: none
    narration: str
    weight: int
    external: bool = True
    outage: bool = False


SCENES = (
    Scene("", "Lunch", 45, external=False),
    Scene("", "Rent", 29),
    Scene("sandbox:hang(1)", "School fees", 8),
    Scene("sandbox:accept_then_reset sandbox:no_webhook", "Data bundle", 4),  # found by look-up
    Scene("sandbox:accept_then_reset", "Electricity", 4),  # answer lost: an event tells
    Scene("sandbox:decline", "Closed account", 4),
    Scene(
        "sandbox:accept_then_reset sandbox:no_webhook sandbox:lookup_outage",
        "Generator",
        6,
        outage=True,
    ),
)


@dataclass(frozen=True, slots=True)
class World:
    """Where the demo is."""

    base_url: str
    sandbox_url: str
    users: dict[str, dict[str, str]]


def main() -> None:
    """Tap until told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    world, dice = _world(options.folder), random.Random(options.seed)
    with ThreadPoolExecutor(PHONES) as phones:
        for number in range(1, 1_000_000):
            scene, payer = _drawn(dice), dice.choice(PAYERS)
            body = _body(world, scene, payer, amount=dice.randint(1, 40) * 50_00, number=number)
            phones.submit(_tap, world, scene, payer, body)
            time.sleep(EVERY)


def _world(folder: Path) -> World:
    """The demo's facts, once it has written them."""
    while True:
        with suppress(FileNotFoundError):
            facts = json.loads((folder / "demo.json").read_text())
            return World(**{name: facts[name] for name in World.__dataclass_fields__})
        time.sleep(0.5)


def _drawn(dice: random.Random) -> Scene:
    return dice.choices(SCENES, weights=[scene.weight for scene in SCENES])[0]


def _body(world: World, scene: Scene, payer: str, *, amount: int, number: int) -> dict[str, Any]:
    payee = next(name for name in PAYERS if name != payer)
    account = f"55500{number:05d}" if scene.external else world.users[payee]["account"]
    body = {
        "toAccount": account,
        "amount": amount,
        "currency": "NGN",
        "narration": f"{scene.narration} {number} {scene.wish}".strip(),
    }
    return body | ({"toBank": BANK} if scene.external else {})


def _tap(world: World, scene: Scene, payer: str, body: dict[str, Any]) -> None:
    """One tap and its retries; whatever goes wrong, the next tap comes all the same."""
    try:
        with Phone(world.base_url, world.users[payer]["token"]) as phone:
            phone.patience = OUTAGE * 3
            key = new_key()
            phone.send(body, key=key)
            if scene.outage:
                time.sleep(OUTAGE)
                _end_outage(world, body["narration"])
            phone.until_final(body, key=key)
    except (httpx2.HTTPError, TimeoutError, OSError) as error:
        print(f"{body['narration']}: {error!r}", flush=True)


def _end_outage(world: World, narration: str) -> None:
    query = {"fault": "lookup_outage", "narration": narration}
    httpx2.delete(f"{world.sandbox_url}/faults", params=query, timeout=10)


if __name__ == "__main__":
    main()
