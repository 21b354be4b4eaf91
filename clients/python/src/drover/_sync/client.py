"""The client: one object for the three services."""

# Made by `generate` from _async/client.py.

import os
from types import TracebackType

import httpx

from .._http import Retry
from ..auth import ClientCredentials, TokenSource
from .listings import Listings, SavedSearches
from .loads import Loads
from .system import AddressBook, Files, Places, ServiceAccounts
from .transport import Service, Transport


class Drover:
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
        auth: TokenSource | None = None,
        retry: Retry = Retry(),
        timeout: float = 60.0,
        http: httpx.Client | None = None,
    ) -> None:
        self._own = http is None
        self._http = http or httpx.Client(timeout=httpx.Timeout(timeout, connect=10))
        transport = Transport(self._http, auth, f"{system.rstrip('/')}/v1/token", retry)
        of_system = Service(transport, system)
        of_logistics = Service(transport, logistics)
        of_livestock = Service(transport, livestock)
        self.loads = Loads(of_logistics)
        self.address_book = AddressBook(of_logistics)
        self.listings = Listings(of_livestock)
        self.saved_searches = SavedSearches(of_livestock)
        self.files = Files(of_system)
        self.places = Places(of_system)
        self.service_accounts = ServiceAccounts(of_system)

    @classmethod
    def from_env(cls, *, auth: TokenSource | None = None, retry: Retry = Retry()) -> "Drover":
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

    def close(self) -> None:
        """Closes the connections."""
        if self._own:
            self._http.close()

    def __enter__(self) -> "Drover":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
