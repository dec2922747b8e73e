"""The sandbox provider: a payment provider of its own, with its own process and its own books.

Standard library only. Nothing in here knows Ledgerline, so its books can witness for or against it.
"""
