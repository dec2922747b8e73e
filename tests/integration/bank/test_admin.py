"""Staff read the books; nobody changes them here, superusers neither."""

import pytest
from django.test import Client

from ledgerline.bank.models import Account, Entry, Payment, Posting, Transfer, User
from tests.integration.bank.reading import PHONE, one_of_each

pytestmark = pytest.mark.django_db
MODELS = ["user", "account", "transfer", "payment", "posting", "entry", "hold", "usageevent"]


@pytest.fixture
def desk(ada: Account) -> Client:
    """A superuser, with one of each of ada's to look at."""
    one_of_each(ada)
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.mark.parametrize("model", MODELS)
def test_every_list_and_page_can_be_read(desk: Client, model: str) -> None:
    listing = desk.get(f"/admin/bank/{model}/")
    assert listing.status_code == 200
    for row in listing.context["cl"].result_list:
        assert desk.get(f"/admin/bank/{model}/{row.pk}/change/").status_code == 200


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("words", ["ada", "0123456780", "12345678901234567890", "'\";--", "1 2"])
def test_a_search_for_anything_is_answered(desk: Client, model: str, words: str) -> None:
    assert desk.get(f"/admin/bank/{model}/", {"q": words}).status_code == 200


def test_a_transfer_is_found_by_its_id_and_its_reference(desk: Client) -> None:
    transfer = Transfer.objects.get()
    for words in (str(transfer.pk), transfer.reference, "ada"):
        found = desk.get("/admin/bank/transfer/", {"q": words}).context["cl"].result_list
        assert list(found) == [transfer], f"{words} does not find the transfer"


@pytest.mark.parametrize("model", MODELS)
def test_nothing_can_be_added_changed_or_deleted(desk: Client, model: str) -> None:
    row = desk.get(f"/admin/bank/{model}/").context["cl"].result_list[0]
    page = f"/admin/bank/{model}/{row.pk}"
    assert desk.get(f"/admin/bank/{model}/add/").status_code == 403
    assert desk.post(f"{page}/change/", {"name": "x"}).status_code == 403
    assert desk.post(f"{page}/delete/", {"post": "yes"}).status_code == 403
    action = {"action": "delete_selected", "_selected_action": str(row.pk), "post": "yes"}
    desk.post(f"/admin/bank/{model}/", action)
    assert type(row).objects.filter(pk=row.pk).exists()


def test_a_full_number_stands_on_the_account_s_own_page_only(desk: Client, ada: Account) -> None:
    own = f"/admin/bank/account/{ada.pk}/change/"
    assert ada.number in desk.get(own).content.decode()
    transfer, posting = Transfer.objects.get(), Posting.objects.first()
    elsewhere = [f"/admin/bank/{model}/" for model in MODELS]
    elsewhere += [f"/admin/bank/transfer/{transfer.pk}/change/"]
    elsewhere += [f"/admin/bank/payment/{Payment.objects.get().pk}/change/"]
    elsewhere += [f"/admin/bank/posting/{posting.pk}/change/"]
    for page in elsewhere:
        text = desk.get(page).content.decode()
        assert ada.number not in text, f"{page} shows a full account number"
        assert transfer.to_account not in text, f"{page} shows the payee's full account number"
        assert PHONE not in text, f"{page} shows a customer's full telephone number"
        assert transfer.idempotency_key not in text, f"{page} shows a customer's key"


def test_money_is_shown_with_its_currency(desk: Client, ada: Account) -> None:
    text = desk.get(f"/admin/bank/account/{ada.pk}/change/").content.decode()
    for shown in ("NGN\u00a01,000.00", "NGN\u00a07.00", "NGN\u00a0993.00"):
        assert shown in text
    posting = Entry.objects.filter(account=ada).get().posting_id
    assert (
        "NGN\u00a0\N{MINUS SIGN}1,000.00"
        in desk.get(f"/admin/bank/posting/{posting}/change/").content.decode()
    )


def test_no_page_shows_a_password_hash(desk: Client) -> None:
    user = User.objects.create_user("chidi", password="correct horse")
    assert user.password not in desk.get(f"/admin/bank/user/{user.pk}/change/").content.decode()


def test_staff_without_permission_sees_no_books(ada: Account) -> None:
    client = Client()
    client.force_login(User.objects.create_user("new", is_staff=True))
    assert client.get("/admin/bank/account/").status_code == 403
