"""What happened to guarded requests, for whoever counts: metrics, tracing, an adopter's own receiver.

The first two are sent once per request, and all of them outside any transaction of the contract. A receiver that raises
is logged by Django and breaks no answer.
"""

from django.dispatch import Signal

# A guarded request has its answer. `sender` is the operation's name. `outcome` is one word:
#   settled      the handler decided, its answer is stored (a refusal too: see `status`)
#   replayed     a stored answer was sent again
#   deferred     the outcome is open, and comes from whoever calls complete()
#   rolled_back  nothing happened, nothing is stored
#   in_progress, held, key_reused           another request stands in the way
#   key_missing, key_invalid, body_invalid, body_too_large, unauthenticated    refused before that
#   raised       an exception that nobody could render left the view
# `status` is the HTTP status, `seconds` how long the guard and the handler took, `keyed` whether the
# client sent a key, `request` Django's own request.
request_ended = Signal()

# A request came without a key. `sender` is the operation's name, `client` a short label of who sent
# it (setting CLIENT), `refused` whether it was turned away for that, `request` Django's own request.
key_absent = Signal()

# The cache of answers was asked, or should have been. `sender` is its alias, `outcome` one word:
# hit, miss, unreadable (an entry that is none), skipped (left alone after an error), error.
cache_asked = Signal()
