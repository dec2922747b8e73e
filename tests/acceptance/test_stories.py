"""The demo's own stories, told to real processes and judged on both sides' books."""

import pytest

from ledgerline.demo.check.stories import STORIES, Story
from ledgerline.demo.check.system import System

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]


SLOW = frozenset("bfh")  # a busy minute, killed workers, a cache and a broker that lose all


def letter(story: Story) -> str:
    return story.name.split()[0]


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(story, id=letter(story), marks=[pytest.mark.long] * (letter(story) in SLOW))
        for story in STORIES
    ],
)
def test_a_story_of_the_demo_ends_as_it_must(story: Story, system: System) -> None:
    saw = story.tell(system)
    assert saw, "a story that saw nothing proves nothing"
