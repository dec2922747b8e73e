"""The books say what is known in words: whoever reads them at night need not know our tables."""

import html
import re

import pytest
from django.test import Client

from fulfilment.models import Fulfilment
from ledgerline.bank import freezes
from ledgerline.bank.models import Account, FreezeChange, Payment, Transfer, User
from tests.integration.bank.reading import one_of_each
from tests.integration.bank.test_freezes import person

pytestmark = pytest.mark.django_db
MODELS = ["user", "account", "transfer", "payment", "posting", "entry", "hold", "usageevent"]


@pytest.fixture
def desk(ada: Account) -> Client:
    one_of_each(ada)
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def read(client: Client, page: str) -> str:
    """The page's own text, without what stands around it."""
    content = client.get(page).content.decode()
    main = content[content.index('<main id="content-start"') :]
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", main)))


def pages(client: Client) -> list[str]:
    """Every list, and the page of its first row."""
    found = []
    for model in MODELS:
        found.append(f"/admin/bank/{model}/")
        row = client.get(found[-1]).context["cl"].result_list[0]
        found.append(f"/admin/bank/{model}/{row.pk}/change/")
    return found


def test_every_time_has_its_zone_and_its_age(desk: Client) -> None:
    for page in pages(desk):
        text = read(desk, page)
        assert not re.search(r"[ap]\.m\.", text), f"{page} shows a time without its zone"
        if "user" not in page and page != "/admin/bank/account/":
            assert re.search(r"\d\d:\d\d:\d\d UTC \((\d+ \w+ ago|just now)\)", text), page


def test_states_are_the_words_of_the_queue(desk: Client) -> None:
    transfer = Transfer.objects.get()
    page = f"/admin/bank/transfer/{transfer.pk}/change/"
    assert "Outcome open" in read(desk, page)
    assert "Outcome open" in read(desk, "/admin/bank/transfer/")
    for model in ("transfer", "payment", "hold"):
        text = read(desk, f"/admin/bank/{model}/")
        raw = re.search(r"\b(pending|fulfilled|failed|captured|refund_due)\b", text)
        assert raw is None, f"the list of {model}s shows the raw state {raw and raw[0]!r}"


def test_no_page_shows_a_none_of_python(desk: Client) -> None:
    internal = Account.objects.filter(kind="internal").first()
    for page in (*pages(desk), f"/admin/bank/account/{internal.pk}/change/"):
        assert not re.search(r"\bNone\b", read(desk, page)), (
            f"{page} shows None for what is not kept"
        )


def test_a_filter_by_state_finds_its_rows(desk: Client) -> None:
    for state, found in (("pending", 1), ("failed", 0), ("nonsense", 1)):
        listing = desk.get("/admin/bank/transfer/", {"state": state})
        assert listing.context["cl"].result_count == found


def test_a_transfer_leads_to_what_is_known_of_it(desk: Client) -> None:
    transfer, sent = Transfer.objects.get(), Fulfilment.objects.get()
    content = desk.get(f"/admin/bank/transfer/{transfer.pk}/change/").content.decode()
    assert f"/admin/fulfilment/fulfilment/{sent.pk}/change/" in content
    assert "Waiting to be sent" in content
    unpaid = Payment.objects.get()
    assert "nothing was sent" in read(desk, f"/admin/bank/payment/{unpaid.pk}/change/")


def test_a_user_leads_to_all_that_is_theirs(desk: Client, ada: Account) -> None:
    content = desk.get(f"/admin/bank/user/{ada.owner_id}/change/").content.decode()
    lists = re.findall(r'href="(/admin/(?:bank|idempotency)/\w+/\?[^"]+)"', content)
    assert len(lists) == 5
    for address in lists:
        assert desk.get(address).status_code == 200
    listing = desk.get(f"/admin/bank/transfer/?user={ada.owner_id}")
    assert list(listing.context["cl"].result_list) == [Transfer.objects.get()]


def test_an_empty_list_says_so_in_words(desk: Client) -> None:
    assert "No transfer fits what you chose." in read(desk, "/admin/bank/transfer/?q=nobody")
    assert "No hold fits what you chose." in read(desk, "/admin/bank/hold/?state=released")


def test_an_action_without_permission_is_shown_and_says_why(ada: Account) -> None:
    client = Client()
    client.force_login(person("amy", "release_frozen", "view_account"))
    text = read(client, f"/admin/bank/account/{ada.pk}/change/")
    assert "You do not have the permission “Can freeze an account or a customer”" in text
    content = client.get(f"/admin/bank/account/{ada.pk}/change/").content.decode()
    assert "../freeze/" not in content, "the button leads to a page that is refused"
    assert re.search(r"<button[^>]* disabled>Freeze</button>", content)


def test_the_consequence_of_a_freeze_names_what_comes_in_as_well(desk: Client, ada) -> None:
    for page in (f"account/{ada.pk}", f"user/{ada.owner_id}"):
        assert "Other customers cannot pay in meanwhile." in read(
            desk, f"/admin/bank/{page}/freeze/"
        )


def test_no_page_says_that_nothing_ever_changed(desk: Client, ada: Account) -> None:
    staff = person("sola", "freeze")
    freezes.freeze(ada, staff=staff, reason="<script>alert(1)</script> 0123456789", seen=0)
    assert FreezeChange.objects.count() == 1
    page = f"/admin/bank/account/{ada.pk}"
    assert "history" not in desk.get(f"{page}/change/").content.decode().lower()
    shown = desk.get(f"{page}/history/", follow=True).content.decode()
    assert "&lt;script&gt;alert(1)" in shown
    assert "<script>alert" not in shown
    assert "******6789" in shown, "a reason shows a full account number"
