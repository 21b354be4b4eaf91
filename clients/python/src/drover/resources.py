"""The parts of a client: `Drover.loads` is `Loads`, `AsyncDrover.loads` is `AsyncLoads`, and so on."""

from ._async.batches import AsyncBatches
from ._async.listings import AsyncListings, AsyncSavedSearches
from ._async.loads import AsyncLoads
from ._async.pages import AsyncPage, AsyncPages, AsyncSearch
from ._async.system import AsyncAddressBook, AsyncFiles, AsyncPlaces, AsyncServiceAccounts
from ._async.webhooks import AsyncWebhooks
from ._sync.batches import Batches
from ._sync.listings import Listings, SavedSearches
from ._sync.loads import Loads
from ._sync.pages import Page, Pages, Search
from ._sync.system import AddressBook, Files, Places, ServiceAccounts
from ._sync.webhooks import Webhooks

__all__ = [
    "AddressBook",
    "Batches",
    "Files",
    "Listings",
    "Loads",
    "Page",
    "Pages",
    "Places",
    "SavedSearches",
    "Search",
    "ServiceAccounts",
    "Webhooks",
    "AsyncAddressBook",
    "AsyncBatches",
    "AsyncFiles",
    "AsyncListings",
    "AsyncLoads",
    "AsyncPage",
    "AsyncPages",
    "AsyncPlaces",
    "AsyncSavedSearches",
    "AsyncSearch",
    "AsyncServiceAccounts",
    "AsyncWebhooks",
]
