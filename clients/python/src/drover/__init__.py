"""The client of Drover, the back end of an agricultural marketplace.

`Drover` is the client, `AsyncDrover` the same for asyncio and trio. `drover.models` has the models of the three
services: `drover.models.logistics.Load`, `drover.models.livestock.Listing`, `drover.models.system.FileRecord` …
What `Drover` consists of is in `drover.resources`, exceptions in `drover.errors`, filters in `drover.filters`.
"""

from . import errors, filters, models, resources
from ._async.client import AsyncDrover
from ._events import ListingFeedEvent, LoadFeedEvent
from ._http import Created, Retry
from ._sync.client import Drover
from ._version import __version__
from .auth import ClientCredentials
from .webhooks import WebhookEvent, verify_webhook

__all__ = [
    "AsyncDrover",
    "ClientCredentials",
    "Created",
    "Drover",
    "ListingFeedEvent",
    "LoadFeedEvent",
    "Retry",
    "WebhookEvent",
    "__version__",
    "errors",
    "filters",
    "models",
    "resources",
    "verify_webhook",
]
