"""The running story: the same every time, and every kind of scene comes early."""

import random

from ledgerline.demo import simulator


def _scenes(seed: int, count: int) -> list[simulator.Scene]:
    dice = random.Random(seed)
    story = []
    for _ in range(count):
        story.append(simulator._drawn(dice))
        dice.choice(simulator.PAYERS)
        dice.randint(1, 40)
    return story


def test_the_same_seed_tells_the_same_story() -> None:
    assert _scenes(simulator.SEED, 50) == _scenes(simulator.SEED, 50)
    assert _scenes(simulator.SEED, 50) != _scenes(simulator.SEED + 1, 50)


def test_whoever_watches_for_a_minute_sees_every_scene() -> None:
    taps = int(60 / simulator.EVERY)
    missing = set(simulator.SCENES) - set(_scenes(simulator.SEED, taps))
    assert not missing, f"not within the first minute: {[scene.narration for scene in missing]}"


def test_a_payer_pays_the_other_here_and_strangers_elsewhere() -> None:
    accounts = {"dayo": {"account": "1" * 10}, "efe": {"account": "2" * 10}}
    world = simulator.World("http://base", "http://sandbox", accounts)
    here, elsewhere = simulator.SCENES[0], simulator.SCENES[1]
    on_us = simulator._body(world, here, "dayo", amount=1, number=7)
    external = simulator._body(world, elsewhere, "dayo", amount=1, number=7)
    assert (on_us["toAccount"], "toBank" in on_us) == ("2" * 10, False)
    assert (external["toAccount"], external["toBank"]) == ("5550000007", simulator.BANK)
