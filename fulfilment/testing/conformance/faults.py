"""What can go wrong between us and a provider, and at the provider. Pure."""

from enum import StrEnum
from typing import Final


class Fault(StrEnum):
    """Each is in force for every call that is made while a rig injects it."""

    # Of the line, and every provider that is called over a network can meet them.
    REFUSED = "refused"  # nothing listens: the connection is never made
    LOST_REQUEST = "lost_request"  # the call is accepted and never reaches the provider
    LOST_ANSWER = "lost_answer"  # the provider does it, and its answer is lost
    LATE_REQUEST = "late_request"  # arrives only when the rig is told to `let_through`
    SLOW_ANSWER = "slow_answer"  # done at once, answered after the deadline
    TRICKLE = "trickle"  # done at once, answered a byte now and then, without an end
    CUT_SHORT = "cut_short"  # done, and the answer ends in its middle
    # What an answer can be without saying anything.
    SERVER_ERROR = "server_error"  # done, and answered with a bare 5xx
    ODD_SUCCESS = "odd_success"  # done, and answered 2xx without what a success says
    GARBAGE = "garbage"  # done, and answered 2xx in no language of the provider's
    HUGE = "huge"  # done, and answered with more bytes than any answer has
    REDIRECT = "redirect"  # not done, and answered with another address, where it would be done
    # What only the provider itself can do. Look-ups tell the same as the call.
    DECLINED = "declined"  # it says, finally, that it will not
    TURNED_AWAY = (
        "turned_away"  # it says, as documented, that nothing was begun for a reason of ours
    )
    WRONG_AMOUNT = "wrong_amount"  # it says that it did it with another amount
    WRONG_CURRENCY = "wrong_currency"
    WRONG_RECIPIENT = "wrong_recipient"
    CACHED_ERROR = "cached_error"  # a 5xx that the same reference gets for ever; nothing is done
    RETURNED_LATER = "returned_later"  # what is done now comes back at `let_return`
    ROTATED = "rotated"  # it takes new credentials only: `rig.rotate`


# After each of these nobody knows whether it happened, and it did.
DONE_IN_SILENCE: Final = (
    Fault.LOST_ANSWER,
    Fault.SLOW_ANSWER,
    Fault.TRICKLE,
    Fault.CUT_SHORT,
    Fault.SERVER_ERROR,
    Fault.ODD_SUCCESS,
    Fault.GARBAGE,
    Fault.HUGE,
)
# A look-up that meets one of these has learnt nothing.
NO_INFORMATION: Final = (Fault.REFUSED, Fault.LOST_REQUEST, Fault.REDIRECT, *DONE_IN_SILENCE)
# These use up all the time that a call is given.
SLOW: Final = frozenset({Fault.LATE_REQUEST, Fault.SLOW_ANSWER, Fault.TRICKLE})
LIES: Final = (Fault.WRONG_AMOUNT, Fault.WRONG_CURRENCY, Fault.WRONG_RECIPIENT)
# Without these a rig shows nothing of what this suite is for; no reason excuses them.
INDISPENSABLE: Final = frozenset({Fault.REFUSED, Fault.LOST_REQUEST, Fault.LOST_ANSWER})
