"""Which unique constraints do not hold, because a column of theirs may be NULL.

To SQL two NULLs differ: `UNIQUE (address, namespace)` lets any number of rows with one address and
no namespace in. `rules` judges, `in_models` and `in_database` read, `report` puts them together.
"""
