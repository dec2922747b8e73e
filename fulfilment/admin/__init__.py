"""The screens of support staff. Importing this package registers them with Django's admin."""

from fulfilment.admin import cases, events, fulfilments

__all__ = ["cases", "events", "fulfilments"]
