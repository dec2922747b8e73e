"""Every guide is served, whole, and leads to the others."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client

from ledgerline import guides, timeouts
from ledgerline.templatetags.guides import length_of
from tests.guides.conftest import SAMPLES

NAMES = [guide.name for guide in guides.GUIDES]


def page(name: str = "") -> str:
    answer = Client().get(f"/guides/{name}/" if name else "/guides/")
    assert answer.status_code == 200
    assert "default-src 'self'" in answer["Content-Security-Policy"]
    return answer.content.decode()


@pytest.mark.parametrize("name", NAMES)
def test_a_guide_is_served_without_script_and_style_of_its_own(name: str) -> None:
    text = page(name)
    odd = re.findall(r"<script|<style| style=| on[a-z]+=|javascript:", text)
    assert not odd, f"the policy of the pages would switch off {odd}"
    assert "{{" not in re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL)


def test_every_link_of_a_guide_leads_somewhere() -> None:
    texts = [page(name) for name in ["", *NAMES]]
    links = {link for text in texts for link in re.findall(r'href="(/[^"]+)"', text)}
    for link in sorted(link for link in links if not link.startswith("/static/")):
        assert Client().get(link).status_code == 200, f"{link} leads nowhere"


def test_the_list_names_every_guide_and_is_linked_from_the_problems() -> None:
    assert all(f'href="/guides/{name}/"' in page() for name in NAMES)
    for problems in ("/problems/", "/problems/key_reused/"):
        assert 'href="/guides/"' in Client().get(problems).content.decode()


def test_there_is_no_other_guide() -> None:
    assert Client().get("/guides/nonsense/").status_code == 404


def test_every_sample_is_shown() -> None:
    shown = "".join(path.read_text() for path in SAMPLES.parent.glob("*.html"))
    files = [path.relative_to(SAMPLES) for path in SAMPLES.rglob("*.*") if _is_sample(path)]
    hidden = [str(path) for path in files if f'{{% sample "{path}" %}}' not in shown]
    assert not hidden, f"nobody sees {hidden}"


def _is_sample(path: Path) -> bool:
    return path.suffix != ".pyc" and path.name != "__init__.py"


def test_the_time_outs_are_those_of_the_code() -> None:
    text = page("timeouts")
    for _, rows in timeouts.waits():
        for wait in rows:
            assert f"<code>{wait.setting}</code>".replace("'", "&#x27;") in text
            assert f"<td>{length_of(wait.default)}<" in text


def test_a_length_of_time_is_told_in_a_unit_that_fits() -> None:
    told = {
        30 * 86400: "30 days",
        86400: "24 h",
        3600: "60 min",
        300: "5 min",
        90: "90 s",
        0.2: "0.2 s",
    }
    assert {s: length_of(timedelta(seconds=s)) for s in told} == told
