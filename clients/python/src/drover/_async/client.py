"""The client: one object for the three services."""

import os
from types import TracebackType

import httpx

from .._http import Retry
from ..auth import AsyncTokenSource, ClientCredentials
from .listings import AsyncListings, AsyncSavedSearches
from .loads import AsyncLoads
from .system import AsyncAddressBook, AsyncFiles, AsyncPlaces, AsyncServiceAccounts
from .transport import AsyncService, AsyncTransport


class AsyncDrover:
    """A client of the three services.

    `system`, `logistics` and `livestock` are base URLs. `auth` is a token, a function that returns one (called for
    each request, and again once after a 401), or `ClientCredentials`; without it, only `places` works. `timeout` is
    in seconds: of connecting, and between the bytes of an answer. `retry` governs retries. You close an `http` client
    that you pass.
    """

    def __init__(
        self,
        *,
        system: str,
        logistics: str,
        livestock: str,
        auth: AsyncTokenSource | None = None,
        retry: Retry = Retry(),
        timeout: float = 60.0,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._own = http is None
        self._http = http or httpx.AsyncClient(timeout=httpx.Timeout(timeout, connect=10))
        transport = AsyncTransport(self._http, auth, f"{system.rstrip('/')}/v1/token", retry)
        of_system = AsyncService(transport, system)
        of_logistics = AsyncService(transport, logistics)
        of_livestock = AsyncService(transport, livestock)
        self.loads = AsyncLoads(of_logistics)
        self.address_book = AsyncAddressBook(of_logistics)
        self.listings = AsyncListings(of_livestock)
        self.saved_searches = AsyncSavedSearches(of_livestock)
        self.files = AsyncFiles(of_system)
        self.places = AsyncPlaces(of_system)
        self.service_accounts = AsyncServiceAccounts(of_system)

    @classmethod
    def from_env(cls, *, auth: AsyncTokenSource | None = None, retry: Retry = Retry()) -> "AsyncDrover":
        """Returns a client by the environment variables `DROVER_SYSTEM`, `DROVER_LOGISTICS` and `DROVER_LIVESTOCK`.

        Without `auth`, the log-in is `DROVER_CLIENT_ID` and `DROVER_CLIENT_SECRET`, or `DROVER_TOKEN`.
        Raises `KeyError` if a base URL is missing.
        """
        env = os.environ
        if auth is None and "DROVER_CLIENT_ID" in env:
            auth = ClientCredentials(env["DROVER_CLIENT_ID"], env["DROVER_CLIENT_SECRET"])
        return cls(
            system=env["DROVER_SYSTEM"],
            logistics=env["DROVER_LOGISTICS"],
            livestock=env["DROVER_LIVESTOCK"],
            auth=auth or env.get("DROVER_TOKEN"),
            retry=retry,
        )

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._own:
            await self._http.aclose()

    async def __aenter__(self) -> "AsyncDrover":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
