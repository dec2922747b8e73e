"""What a browser is told about the pages: no script or style of a page's own, no framing."""

import re

import pytest

from fulfilment.models import Finding
from tests.integration.admin import cast, pages

INLINE = re.compile(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", re.IGNORECASE)


@pytest.fixture
def addresses(db):
    row = cast.unknown()
    cast.case(row)
    cast.said(row, Finding.NOT_FOUND)
    listing = "/admin/fulfilment/fulfilment/"
    return ["/admin/", pages.QUEUE, pages.case(row), listing, f"{listing}{row.pk}/change/"]


def test_no_page_carries_inline_script_or_style(browser, senior, addresses):
    client = browser(senior)
    for address in addresses:
        found = INLINE.search(client.get(address).content.decode())
        assert found is None, f"{address} has inline code: {found and found.group()!r}"


def test_every_page_sends_the_strict_policy(browser, senior, addresses):
    client = browser(senior)
    for address in (*addresses, "/admin/nowhere/"):
        policy = client.get(address).headers["Content-Security-Policy"]
        for rule in (
            "default-src 'self'",
            "frame-ancestors 'none'",
            "form-action 'self'",
            "base-uri",
        ):
            assert rule in policy, f"{address} is sent without {rule}"
        assert "unsafe" not in policy


def test_a_text_with_markup_is_shown_as_text(browser, senior):
    row = cast.unknown()
    cast.said(row, Finding.ACCEPTED, detail="<script>alert(1)</script>", provider_status="<b>x</b>")
    content = browser(senior).get(pages.case(row)).content.decode()
    assert "<script>alert" not in content
    assert "&lt;script&gt;alert(1)" in content


def test_every_page_is_titled_ledgerline(browser, senior, addresses):
    client = browser(senior)
    for address in addresses:
        assert re.search(r"<title>[^<]*Ledgerline\s*</title>", client.get(address).content.decode())


def test_every_colour_stands_beside_a_word(browser, senior, addresses):
    content = browser(senior).get(addresses[2]).content.decode()
    badges = re.findall(r'<span class="badge [a-z-]+">([^<]*)</span>', content)
    assert badges
    assert all(badge.strip() for badge in badges), "a badge has a colour and no word"
