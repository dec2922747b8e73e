"""`manage.py issue_token` prints a token, or says what is wrong."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from ledgerline import tokens
from ledgerline.bank.models import Account, User


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command("issue_token", *arguments, stdout=out)
    return out.getvalue()


def test_the_token_alone_is_printed(ada: Account) -> None:
    text = printed("ada", "--lifetime", "60")
    assert tokens.read(text.rstrip("\n")).pk == ada.owner_id


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nobody"], "There is no user 'nobody'"),
        (["ada", "--lifetime", "0"], "--lifetime is 0; it must be from 1"),
        (["ada", "--lifetime", "nan"], "it must be from 1"),
        (["ada", "--lifetime", "1e12"], "it must be from 1"),
    ],
)
def test_a_mistake_is_one_sentence(ada: Account, arguments: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        printed(*arguments)


def test_nobody_speaks_for_an_inactive_user(ada: Account) -> None:
    User.objects.filter(pk=ada.owner_id).update(is_active=False)
    with pytest.raises(CommandError, match="is not active"):
        printed("ada")
