"""Why the bank says no. Each class's docstring is the sentence a person reads.

All are stored and replayed under their key: the same request gets the same no, and only a new key
(a new intent) is decided anew.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import fulfilment
import idempotency
from idempotency.problems import ProblemKind, register


class BankRefusal(idempotency.Refusal):
    """The bank refuses this order. Nothing moved."""

    meaning: ClassVar[str]
    what_to_do: ClassVar[str]


class InsufficientBalance(BankRefusal):
    """The account does not hold enough money for this."""

    code = "insufficient_balance"
    meaning = "The balance without what is held for open transfers is smaller than the amount."
    what_to_do = "Wait for money or choose a smaller amount, then send it with a new key."


class UnknownPayee(BankRefusal):
    """There is no account with the number in toAccount."""

    code = "unknown_payee"
    meaning = "No customer of this bank has the account in `toAccount`."
    what_to_do = "Check the number; for an account of another bank add `toBank`. Use a new key."


class UnknownAccount(BankRefusal):
    """You have no such account to pay from."""

    code = "unknown_account"
    meaning = "`fromAccount` is not yours, or you have no account in this currency."
    what_to_do = "Choose one of the accounts that GET /v1/accounts lists. Use a new key."


class SameAccount(BankRefusal):
    """The money would go to the account that it comes from."""

    code = "same_account"
    meaning = "`fromAccount` and `toAccount` are the same account."
    what_to_do = "Choose another payee or another account of yours. Use a new key."


class CurrencyUnsupported(BankRefusal):
    """The bank does not pay in this currency."""

    code = "currency_unsupported"
    meaning = "Transfers and payments in this currency are not offered."
    what_to_do = "Choose another currency, for a transfer one of your accounts'. Use a new key."


class CurrencyMismatch(BankRefusal):
    """The accounts are not both in this currency."""

    code = "currency_mismatch"
    meaning = "`fromAccount` or `toAccount` is kept in another currency; nothing is converted."
    what_to_do = "Pay in the currency that both accounts have. Use a new key."


class LimitExceeded(BankRefusal):
    """The amount is above the limit for one order."""

    code = "limit_exceeded"
    meaning = "One order may not be larger than the limit of its currency, stated in `limit`."
    what_to_do = "Choose an amount up to `limit` minor units. Use a new key."


class AccountFrozen(BankRefusal):
    """The account is frozen: no money can move in or out."""

    code = "account_frozen"
    meaning = "The bank has stopped the account that the member `field` names."
    what_to_do = "Ask the bank's support. Once it is released, send the order with a new key."


class UserFrozen(BankRefusal):
    """Your access is frozen: no money can leave your accounts."""

    code = "user_frozen"
    meaning = "The bank has stopped all payments of this customer."
    what_to_do = "Ask the bank's support. Once it is released, send the order with a new key."


class TransferFailed(BankRefusal):
    """The other bank did not take the money; it is yours again."""

    code = "transfer_failed"
    meaning = "It is certain that the payee did not get the money. The hold on it is released."
    what_to_do = "Check the payee, then send the order again with a new key if it is still wanted."


class TransferCancelled(BankRefusal):
    """The transfer was cancelled before anything was sent."""

    code = "transfer_cancelled"
    meaning = "Nothing was ever sent to the other bank. The hold on the money is released."
    what_to_do = "Send the order again with a new key if it is still wanted."


class CheckoutDeclined(BankRefusal):
    """The payment provider does not open a checkout for this."""

    code = "checkout_declined"
    meaning = "The payment provider refused, finally. Nobody was charged."
    what_to_do = "Check amount and currency, then send the payment again with a new key."


class ConfirmationRequired(idempotency.InputRefused):
    """A transfer of this size has to be confirmed first."""

    code = "confirmation_required"


class PaymentMismatch(fulfilment.EventRefused):
    """The provider says that something else was paid than was asked for."""

    code = "payment_mismatch"


NOT_CANCELLABLE = ProblemKind(
    code="not_cancellable",
    title="This transfer cannot be cancelled.",
    status=409,
    retry="never",
    safe_new_key=False,
    meaning="Only what was never sent to the other bank can be taken back. Nothing was changed.",
    what_to_do="Ask the address in `Location` what became of the transfer, and act on that.",
)


CONFIRMATION_REQUIRED = ProblemKind(
    code=ConfirmationRequired.code,
    title=ConfirmationRequired.sentence(),
    status=ConfirmationRequired.status,
    retry=ConfirmationRequired.retry,
    meaning=(
        "Above the amount in `above`, the request must carry the token of a confirmation. Nothing was "
        "done and nothing was stored."
    ),
    what_to_do=(
        "Send what is to be paid to POST /v1/transfer-confirmations, show the user the answer, and send "
        "the same request with the same key and its token as Confirmation-Token."
    ),
)


class MadeBefore(Exception):
    """There is a transfer of this reference already: its answer is due, and no second one."""

    code = "made_before"


class NotCancellable(Exception):
    """The transfer was sent, or is decided: there is nothing left to take back."""


class UnknownAccounts(Exception):
    """Some events name an account that is not the customer's; `places` of them in the list."""

    def __init__(self, places: Sequence[int]) -> None:
        super().__init__(self.__doc__)
        self.places = places


class FreezeRefused(Exception):
    """This cannot be frozen or released so; the sentence says why."""


class FreezeOvertaken(Exception):
    """Somebody changed it since you looked; `change` says who. Look at it again and decide again."""

    def __init__(self, change: Any) -> None:
        verb = "froze" if change.frozen else "released"
        who = change.actor.removeprefix("staff:")
        super().__init__(
            f"{who} {verb} it at {change.changed_at:%H:%M:%S} UTC: {change.reason}. "
            "Look at it again and decide again."
        )
        self.change = change


class BooksRefused(Exception):
    """The books do not allow this step; it is a mistake of the program, not of the customer."""


class CorrectionDue(BooksRefused):
    """The transfer was given up and turns out to be paid: it needs a correction by a person."""


REFUSALS: tuple[type[BankRefusal], ...] = (
    InsufficientBalance,
    UnknownPayee,
    UnknownAccount,
    SameAccount,
    CurrencyUnsupported,
    CurrencyMismatch,
    LimitExceeded,
    AccountFrozen,
    UserFrozen,
    TransferFailed,
    TransferCancelled,
    CheckoutDeclined,
)

register(NOT_CANCELLABLE, CONFIRMATION_REQUIRED)
for _refusal in REFUSALS:
    register(
        ProblemKind(
            code=_refusal.code,
            title=_refusal.sentence(),
            status=_refusal.status,
            retry=_refusal.retry,
            safe_new_key=_refusal.safe_new_key,
            meaning=_refusal.meaning,
            what_to_do=_refusal.what_to_do,
        )
    )
