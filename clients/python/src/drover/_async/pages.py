"""Lists that are read page by page."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Generic, Literal

from .._http import ModelT, Progress, Query, next_query, parsed, query_of
from .transport import AsyncService, json_of

Format = Literal["CSV", "XLSX"]


@dataclass(frozen=True)
class AsyncPage(Generic[ModelT]):
    """A page of a list."""

    items: list[ModelT]
    total: int | None
    """The number of all matches, if it was asked for."""
    following: Query | None
    """The query of the next page, `None` after the last one."""


class AsyncPages(Generic[ModelT]):
    """A list. Iterate over it for all its rows, which are fetched as they are needed, or ask for one `page`."""

    def __init__(
        self, service: AsyncService, path: str, model: type[ModelT], parameters: dict[str, Any]
    ) -> None:
        self._service = service
        self._path = path
        self._model = model
        self._query = query_of(parameters)

    async def page(
        self,
        after: AsyncPage[ModelT] | None = None,
        *,
        limit: int | None = None,
        offset: int | None = None,
        count: bool = False,
    ) -> AsyncPage[ModelT]:
        """Returns the first page, the one at an `offset`, or the one `after` another, which is empty after the last.

        `limit` is 1 to 100 rows, by default 20, and continues to hold for later pages. With `count`, the page has the
        `total`, which takes longer.
        """
        if after is None:
            given = {"limit": limit, "offset": offset, "count": count or None}
            query = [*self._query, *query_of(given)]
        elif after.following is None:
            return AsyncPage([], after.total, None)
        else:
            query = after.following
        response = await self._service.request("GET", self._path, query=query)
        items = [parsed(self._model, item) for item in json_of(response)]
        total = response.headers.get("X-Total-Count")
        return AsyncPage(
            items, None if total is None else int(total), next_query(response, query, len(items))
        )

    async def __aiter__(self) -> AsyncIterator[ModelT]:
        page = await self.page(limit=100)
        while page.items:
            for item in page.items:
                yield item
            page = await self.page(page)


class AsyncSearch(AsyncPages[ModelT]):
    """The matches of a search, which can also be exported."""

    async def export(
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
        return await self._service.save("GET", self._path, into, progress, query=query)
