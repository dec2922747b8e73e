"""Pages of a table that may have a hundred million rows: nobody counts them all for a list."""

from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.utils.functional import cached_property

if TYPE_CHECKING:
    _Base = Paginator[Any]
else:
    _Base = Paginator

MOST = 10_000


class BoundedPaginator(_Base):
    """Counts to MOST and no further: whoever looks for one key searches for it."""

    @cached_property
    def count(self) -> int:
        """How many rows can be paged through."""
        rows: Any = self.object_list
        return int(rows.order_by()[:MOST].count())
