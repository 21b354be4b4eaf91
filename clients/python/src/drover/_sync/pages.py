"""Lists that are read page by page."""

# Made by `generate` from _async/pages.py.

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Generic, Literal

from .._http import ModelT, Progress, Query, next_query, parsed, query_of
from .transport import Service, json_of

Format = Literal["CSV", "XLSX"]


@dataclass(frozen=True)
class Page(Generic[ModelT]):
    """A page of a list."""

    items: list[ModelT]
    total: int | None
    """The number of all matches, if it was asked for."""
    following: Query | None
    """The query of the next page, `None` after the last one."""


class Pages(Generic[ModelT]):
    """A list. Iterate over it for all its rows, which are fetched as they are needed, or ask for one `page`."""

    def __init__(self, service: Service, path: str, model: type[ModelT], parameters: dict[str, Any]) -> None:
        self._service = service
        self._path = path
        self._model = model
        self._query = query_of(parameters)

    def page(
        self,
        after: Page[ModelT] | None = None,
        *,
        limit: int | None = None,
        offset: int | None = None,
        count: bool = False,
    ) -> Page[ModelT]:
        """Returns the first page, the one at an `offset`, or the one `after` another, which is empty after the last.

        `limit` is 1 to 100 rows, by default 20, and continues to hold for later pages. With `count`, the page has the
        `total`, which takes longer.
        """
        if after is None:
            given = {"limit": limit, "offset": offset, "count": count or None}
            query = [*self._query, *query_of(given)]
        elif after.following is None:
            return Page([], after.total, None)
        else:
            query = after.following
        response = self._service.request("GET", self._path, query=query)
        items = [parsed(self._model, item) for item in json_of(response)]
        total = response.headers.get("X-Total-Count")
        return Page(items, None if total is None else int(total), next_query(response, query, len(items)))

    def __iter__(self) -> Iterator[ModelT]:
        page = self.page(limit=100)
        while page.items:
            for item in page.items:
                yield item
            page = self.page(page)


class Search(Pages[ModelT]):
    """The matches of a search, which can also be exported."""

    def export(
        self,
        into: BinaryIO,
        format: Format = "CSV",
        *,
        limit: int | None = None,
        bom: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Writes all matches (or `limit` of them) to a binary file as they arrive; returns the number of bytes.

        `bom` begins CSV with a byte order mark, which Excel needs. If the connection breaks, this is `Unreachable`,
        and the file is incomplete.
        """
        query = [*self._query, *query_of({"format": format, "limit": limit, "bom": bom or None})]
        return self._service.save("GET", self._path, into, progress, query=query)
