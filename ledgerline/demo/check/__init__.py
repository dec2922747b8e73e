"""The demo's proof: a few stories told to a running system, judged on its books and the provider's."""
